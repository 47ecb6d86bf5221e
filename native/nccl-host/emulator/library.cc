// What NCCL's host code finds in the place of its device code.
#include <algorithm>
#include <cstdlib>

#include "collectives.h"
#include "comm.h"
#include "device.h"
#include "kernel.h"
#include "memory.h"
#include "nccl_device.h"
#include "reduction.h"
#include "sym_kernels.h"
#include "transport/net_ib/gdaki/gin_host_gdaki.h"

extern "C" void mockCudaRegisterKernel(const void* kernel, void (*body)(const void*, size_t), size_t most);

namespace emulator {

namespace {

/** A reduction of one rank's elements, which only scales them. */
struct OneRank {
    char* to;
    const char* from;
    size_t count;
    ncclDevRedOpFull op;
    ncclDataType_t type;
};

void runOneRank(const void* bytes, size_t) {
    const OneRank& call = *static_cast<const OneRank*>(bytes);
    size_t size = bytesOf(call.type);
    uint64_t scalar = call.op.scalarArg;
    if (call.op.scalarArgIsPtr) {
        scalar = 0;
        __builtin_memcpy(&scalar, view(reinterpret_cast<const char*>(call.op.scalarArg), size, "scalar"), size);
    }
    Reduction(call.op.op, call.type, scalar)
        .apply(view(call.to, call.count * size, "output of a kernel"),
               view(call.from, call.count * size, "input of a kernel"), nullptr, call.count, true);
}

const char oneRankKernel = 0;

void prefer(const char* variable, const char* value) { setenv(variable, value, 0); }

/** Only what the environment does not say otherwise. */
void setEnvironment() {
    // What the emulator has no kernels for. If the environment asks for it, it is refused when it is launched.
    prefer("NCCL_ALGO", "RING");
    prefer("NCCL_PROTO", "SIMPLE");
    prefer("NCCL_P2P_LL_THRESHOLD", "-1");
    prefer("NCCL_LOCAL_REGISTER", "0");
    prefer("NCCL_GRAPH_REGISTER", "0");
    // What the mock devices do not have.
    prefer("NCCL_CUMEM_ENABLE", "0");
    prefer("NCCL_CUMEM_HOST_ENABLE", "0");
    prefer("NCCL_NVLS_ENABLE", "0");
    // Without cuMem a rank that closes its communicator frees device memory that a peer's kernel may still return credits
    // to. Memory of the host stays as long as either of them has it.
    prefer("NCCL_P2P_DISABLE", "1");
    // Hundreds of communicators share a few hundred megabytes. A world of one rank alone would take 512 for messages.
    prefer("NCCL_BUFFSIZE", "1048576");
    prefer("NCCL_LL_BUFFSIZE", "65536");
    prefer("NCCL_LL128_BUFFSIZE", "65536");
    prefer("NCCL_P2P_NVL_CHUNKSIZE", "131072");
    prefer("NCCL_MAX_P2P_NCHANNELS", "2");
    // Tests have no network, and nobody to ask how a job is.
    prefer("NCCL_SOCKET_IFNAME", "lo");
    prefer("NCCL_IB_DISABLE", "1");
    prefer("NCCL_RAS_ENABLE", "0");
}

/** As the code does that nvcc puts into a library. */
__attribute__((constructor)) void registerKernels() {
    setEnvironment();
    for (int i = 0; i < ncclDevKernelCount; ++i) {
        mockCudaRegisterKernel(ncclDevKernelList[i], runKernel, sizeof(ncclDevKernelArgs4K));
    }
    mockCudaRegisterKernel(&oneRankKernel, runOneRank, sizeof(OneRank));
}

}  // namespace

}  // namespace emulator

ncclResult_t ncclLaunchOneRank(void* to, const void* from, size_t count, ncclDevRedOpFull op, ncclDataType_t type,
                               cudaStream_t stream) {
    size_t bytes = count * emulator::bytesOf(type);
    if (op.op != ncclDevPreMulSum) {
        if (to != from) CUDACHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
        return ncclSuccess;
    }
    emulator::OneRank call{static_cast<char*>(to), static_cast<const char*>(from), count, op, type};
    void* arguments[] = {&call};
    CUDACHECK(cudaLaunchKernel(&emulator::oneRankKernel, dim3(1), dim3(512), arguments, 0, stream));
    return ncclSuccess;
}

// Kernels on memory that all ranks have at the same addresses: there is no such memory here.
extern const int ncclSymkKernelCount = 0;
void* ncclSymkKernelList[] = {nullptr};
int ncclSymkKernelRequirements[] = {0};
int ncclSymkKernelMaxDynamicSmem[] = {0};
int ncclSymkGetKernelIndex(ncclSymkKernelId, int, ncclDataType_t) {
    emulator::refuse("kernels on symmetric memory", "not emulated");
}

namespace {

ncclResult_t noGin() { emulator::refuse("messages that kernels start", "not emulated"); }

}  // namespace

ncclResult_t ncclGinResetSignalsAndCounters(ncclComm*, const ncclDevComm_t*) { return noGin(); }

ncclResult_t ncclGinGdakiCreateContext(void*, int, int, int, void**, ncclNetDeviceHandle_t**) { return noGin(); }
ncclResult_t ncclGinGdakiDestroyContext(void*) { return noGin(); }
ncclResult_t ncclGinGdakiRegMrSym(void*, void*, size_t, int, uint64_t, void**, void**) { return noGin(); }
ncclResult_t ncclGinGdakiDeregMrSym(void*, void*) { return noGin(); }
ncclResult_t ncclGinGdakiProgress(void*) { return noGin(); }
ncclResult_t ncclGinGdakiQueryLastError(void*, bool*) { return noGin(); }
