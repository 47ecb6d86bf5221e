// Device time of one allReduce in C and the host's time to enqueue it, to compare with org.jccl.nccl.DeviceTime, which does
// the same:  device_time
// JCCL_NCCL_DRIVER, JCCL_NCCL_CUDART and JCCL_NCCL_LIBRARY name the libraries where the linker does not find them.
// Prints "BYTES DEVICE HOST" in microseconds for each size.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "cuda/types.h"
#include "nccl/types.h"

namespace {

constexpr size_t smallest = 4, largest = 64 << 20, factor = 16;
constexpr int warmUps = 10, rounds = 5;

// Of the largest size, before each round: the device is busy until all calls of the round are enqueued. Otherwise the small
// ones would wait for the host, and not for each other.
constexpr int callsBefore = 10;

// Enough to hide the ends of a round, and not too many of the long ones.
int callsOf(size_t bytes) { return bytes > (1 << 20) ? 10 : 100; }

void* load(const char* variable, const char* name, const char* older = nullptr) {
    const char* given = getenv(variable);
    void* library = dlopen(given != nullptr ? given : name, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr && given == nullptr && older != nullptr) library = dlopen(older, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

template <class Function>
Function* find(void* library, const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return reinterpret_cast<Function*>(found);
}

void check(int code, const char* call) {
    if (code != 0) {
        fprintf(stderr, "%s failed with code %d\n", call, code);
        exit(1);
    }
}

}  // namespace

#define USE(library, name, ...) auto name = find<int(__VA_ARGS__)>(library, #name)
#define CALL(name, ...) check(name(__VA_ARGS__), #name)

int main() {
    load("JCCL_NCCL_DRIVER", "libcuda.so.1");
    void* cuda = load("JCCL_NCCL_CUDART", "libcudart.so.13", "libcudart.so.12");
    void* nccl = load("JCCL_NCCL_LIBRARY", "libnccl.so.2");
    USE(cuda, cudaSetDevice, int);
    USE(cuda, cudaMalloc, void**, size_t);
    USE(cuda, cudaStreamCreateWithFlags, cudaStream_t*, unsigned);
    USE(cuda, cudaStreamSynchronize, cudaStream_t);
    USE(cuda, cudaEventCreateWithFlags, cudaEvent_t*, unsigned);
    USE(cuda, cudaEventRecord, cudaEvent_t, cudaStream_t);
    USE(cuda, cudaEventElapsedTime, float*, cudaEvent_t, cudaEvent_t);
    USE(nccl, ncclGetUniqueId, ncclUniqueId*);
    USE(nccl, ncclCommInitRank, ncclComm_t*, int, ncclUniqueId, int);
    USE(nccl, ncclAllReduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
    USE(nccl, ncclRedOpCreatePreMulSum, ncclRedOp_t*, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t);
    USE(nccl, ncclRedOpDestroy, ncclRedOp_t, ncclComm_t);
    USE(nccl, ncclCommDestroy, ncclComm_t);

    CALL(cudaSetDevice, 0);
    void* memory;
    CALL(cudaMalloc, &memory, largest);
    cudaStream_t stream;
    CALL(cudaStreamCreateWithFlags, &stream, 1);
    cudaEvent_t begin, end;
    CALL(cudaEventCreateWithFlags, &begin, 0);
    CALL(cudaEventCreateWithFlags, &end, 0);
    ncclUniqueId id;
    CALL(ncclGetUniqueId, &id);
    ncclComm_t comm;
    CALL(ncclCommInitRank, &comm, 1, id, 0);

    float one = 1;
    auto allReduce = [&](size_t bytes) {
        // A sum of one rank in place is no work at all; with a factor it is a kernel.
        ncclRedOp_t op;
        CALL(ncclRedOpCreatePreMulSum, &op, &one, ncclFloat32, ncclScalarHostImmediate, comm);
        CALL(ncclAllReduce, memory, memory, bytes / sizeof one, ncclFloat32, op, comm, stream);
        CALL(ncclRedOpDestroy, op, comm);
    };
    for (size_t bytes = smallest; bytes <= largest; bytes *= factor) {
        for (int i = 0; i < warmUps; ++i) allReduce(bytes);
        const int calls = callsOf(bytes);
        float device = 1e30f, host = 1e30f;
        for (int round = 0; round < rounds; ++round) {
            for (int i = 0; i < callsBefore; ++i) allReduce(largest);
            CALL(cudaEventRecord, begin, stream);
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < calls; ++i) allReduce(bytes);
            const std::chrono::duration<float, std::micro> enqueued = std::chrono::steady_clock::now() - start;
            host = std::min(host, enqueued.count() / calls);
            CALL(cudaEventRecord, end, stream);
            CALL(cudaStreamSynchronize, stream);
            float millis;
            CALL(cudaEventElapsedTime, &millis, begin, end);
            device = std::min(device, millis);
        }
        printf("%zu %.3f %.3f\n", bytes, device * 1e3 / calls, host);
        fflush(stdout);
    }
    CALL(ncclCommDestroy, comm);
}
