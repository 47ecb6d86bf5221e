// The CUDA runtime and NCCL of the host: opened by path, their functions found by name. No header of the vendor is used:
// what is declared here is the same in CUDA 12 and 13, and in NCCL from 2.19.3 on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jccl::nccl {

// 128 bytes, passed by value.
struct UniqueId {
  char bytes[128];
};

// ncclConfig_t as of NCCL 2.30.7. An older library reads the part that it knows; fields after it are at their defaults.
struct Config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
  int graphUsageMode;
  int numRmaCtx;
  int maxP2pPeers;
  int graphStreamOrdering;
};
static_assert(sizeof(Config) == 96, "the layout of ncclConfig_t");

// Enumerations of both libraries are passed as int, handles and addresses as void*.
#define JCCL_CUDA_FUNCTIONS(X)                                              \
  X(const char*, cudaGetErrorName, (int))                                   \
  X(const char*, cudaGetErrorString, (int))                                 \
  X(int, cudaGetLastError, ())                                              \
  X(int, cudaDriverGetVersion, (int*))                                      \
  X(int, cudaRuntimeGetVersion, (int*))                                     \
  X(int, cudaGetDeviceCount, (int*))                                        \
  X(int, cudaSetDevice, (int))                                              \
  X(int, cudaDeviceSynchronize, ())                                         \
  X(int, cudaDeviceGetAttribute, (int*, int, int))                          \
  X(int, cudaDeviceGetStreamPriorityRange, (int*, int*))                    \
  X(int, cudaStreamCreateWithPriority, (void**, unsigned, int))             \
  X(int, cudaStreamDestroy, (void*))                                        \
  X(int, cudaStreamQuery, (void*))                                          \
  X(int, cudaStreamSynchronize, (void*))                                    \
  X(int, cudaStreamIsCapturing, (void*, int*))                              \
  X(int, cudaStreamGetFlags, (void*, unsigned*))                            \
  X(int, cudaStreamWaitEvent, (void*, void*, unsigned))                     \
  X(int, cudaEventCreateWithFlags, (void**, unsigned))                      \
  X(int, cudaEventDestroy, (void*))                                         \
  X(int, cudaEventRecord, (void*, void*))                                   \
  X(int, cudaEventQuery, (void*))                                           \
  X(int, cudaEventSynchronize, (void*))                                     \
  X(int, cudaEventElapsedTime, (float*, void*, void*))                      \
  X(int, cudaMalloc, (void**, size_t))                                      \
  X(int, cudaFree, (void*))                                                 \
  X(int, cudaHostAlloc, (void**, size_t, unsigned))                         \
  X(int, cudaFreeHost, (void*))                                             \
  X(int, cudaMemcpyAsync, (void*, const void*, size_t, int, void*))         \
  X(int, cudaThreadExchangeStreamCaptureMode, (int*))

#define JCCL_NCCL_FUNCTIONS(X)                                                              \
  X(int, ncclGetVersion, (int*))                                                            \
  X(const char*, ncclGetErrorString, (int))                                                 \
  X(const char*, ncclGetLastError, (void*))                                                 \
  X(int, ncclGetUniqueId, (UniqueId*))                                                      \
  X(int, ncclCommInitRankConfig, (void**, int, UniqueId, int, Config*))                     \
  X(int, ncclCommSplit, (void*, int, int, void**, Config*))                                 \
  X(int, ncclCommFinalize, (void*))                                                         \
  X(int, ncclCommDestroy, (void*))                                                          \
  X(int, ncclCommAbort, (void*))                                                            \
  X(int, ncclCommGetAsyncError, (void*, int*))                                              \
  X(int, ncclGroupStart, ())                                                                \
  X(int, ncclGroupEnd, ())                                                                  \
  X(int, ncclBroadcast, (const void*, void*, size_t, int, int, void*, void*))               \
  X(int, ncclAllReduce, (const void*, void*, size_t, int, int, void*, void*))               \
  X(int, ncclReduce, (const void*, void*, size_t, int, int, int, void*, void*))             \
  X(int, ncclReduceScatter, (const void*, void*, size_t, int, int, void*, void*))           \
  X(int, ncclAllGather, (const void*, void*, size_t, int, void*, void*))                    \
  X(int, ncclSend, (const void*, size_t, int, int, void*, void*))                           \
  X(int, ncclRecv, (void*, size_t, int, int, void*, void*))                                 \
  X(int, ncclRedOpCreatePreMulSum, (int*, void*, int, int, void*))                          \
  X(int, ncclRedOpDestroy, (int, void*))                                                    \
  X(int, ncclCommRegister, (void*, void*, size_t, void**))                                  \
  X(int, ncclCommDeregister, (void*, void*))

// Null where the library is older: 2.28 and 2.28.7 brought most of them.
#define JCCL_NCCL_NEWER_FUNCTIONS(X)                                            \
  X(int, ncclCommInitRankScalable, (void**, int, int, int, UniqueId*, Config*)) \
  X(int, ncclMemAlloc, (void**, size_t))                                        \
  X(int, ncclMemFree, (void*))                                                  \
  X(int, ncclGather, (const void*, void*, size_t, int, int, void*, void*))      \
  X(int, ncclScatter, (const void*, void*, size_t, int, int, void*, void*))     \
  X(int, ncclAlltoAll, (const void*, void*, size_t, int, void*, void*))         \
  X(int, ncclCommRevoke, (void*, int))                                          \
  X(int, ncclCommWindowRegister, (void*, void*, size_t, void**, int))           \
  X(int, ncclCommWindowDeregister, (void*, void*))

// Each function under its own name. Written while the libraries are opened, which Java does once in a process and before
// any other call; only read after that.
#define JCCL_DECLARE(result, name, arguments) extern result(*name) arguments;
JCCL_CUDA_FUNCTIONS(JCCL_DECLARE)
JCCL_NCCL_FUNCTIONS(JCCL_DECLARE)
JCCL_NCCL_NEWER_FUNCTIONS(JCCL_DECLARE)
#undef JCCL_DECLARE

}  // namespace jccl::nccl
