// Compares what ../libraries.h declares with the vendor's headers, for a compiler that has them:
//   g++ -std=c++17 -fsyntax-only -I CUDA/include signatures.cc
//   g++ -std=c++17 -fsyntax-only -I CUDA/include -I NCCL/include -DOF_NCCL signatures.cc
// Two functions are equal here when a call of one is a call of the other: enumerations count as integers of their size,
// and all pointers alike. CUDA's header has to be of version 12 or 13; NCCL's of 2.28.7 or newer.
#ifdef OF_NCCL
#include <nccl.h>
#else
#include <cuda_runtime_api.h>
#endif

#include <climits>
#include <cstddef>
#include <type_traits>

#include "../libraries.h"

namespace {

// What is passed for a type, and how.
template <class T, class = void>
struct Passed {
  using Type = T;
};
template <class T>
struct Passed<T, std::enable_if_t<std::is_enum_v<T> || std::is_integral_v<T>>> {
  using Type = std::integral_constant<size_t, sizeof(T)>;
};
template <class T>
struct Passed<T, std::enable_if_t<std::is_pointer_v<T>>> {
  using Type = void*;
};
#ifdef OF_NCCL
template <>
struct Passed<ncclUniqueId, void> {
  static_assert(sizeof(ncclUniqueId) == sizeof(jccl::nccl::UniqueId));
  using Type = jccl::nccl::UniqueId;
};
#endif

template <class Function>
struct Call;
template <class Result, class... Arguments>
struct Call<Result(Arguments...)> {
  using Type = typename Passed<Result>::Type(typename Passed<Arguments>::Type*...);
};

template <class Ours, class Theirs>
constexpr bool isSameCall() {
  return std::is_same_v<typename Call<Ours>::Type, typename Call<Theirs>::Type>;
}

#define JCCL_COMPARE(result, name, arguments) \
  static_assert(isSameCall<std::remove_pointer_t<decltype(jccl::nccl::name)>, decltype(::name)>(), #name);
#ifndef OF_NCCL
JCCL_CUDA_FUNCTIONS(JCCL_COMPARE)
static_assert(cudaStreamNonBlocking == 1 && cudaEventDisableTiming == 2 && cudaHostAllocPortable == 1);
static_assert(cudaDevAttrComputeCapabilityMajor == 75 && cudaStreamCaptureModeThreadLocal == 1);
static_assert(cudaMemcpyHostToDevice == 1 && cudaMemcpyDeviceToHost == 2 && cudaMemcpyDeviceToDevice == 3);
static_assert(cudaErrorMemoryAllocation == 2 && cudaErrorInsufficientDriver == 35 && cudaErrorNoDevice == 100);
static_assert(cudaErrorCallRequiresNewerDriver == 36 && cudaErrorNotReady == 600);
#else
JCCL_NCCL_FUNCTIONS(JCCL_COMPARE)
JCCL_NCCL_NEWER_FUNCTIONS(JCCL_COMPARE)
#define JCCL_FIELD(name) \
  static_assert(offsetof(jccl::nccl::Config, name) == offsetof(ncclConfig_t, name), #name)
JCCL_FIELD(size);
JCCL_FIELD(magic);
JCCL_FIELD(version);
JCCL_FIELD(blocking);
JCCL_FIELD(cgaClusterSize);
JCCL_FIELD(minCTAs);
JCCL_FIELD(maxCTAs);
JCCL_FIELD(netName);
JCCL_FIELD(splitShare);
JCCL_FIELD(trafficClass);
JCCL_FIELD(commName);
JCCL_FIELD(collnetEnable);
JCCL_FIELD(CTAPolicy);
JCCL_FIELD(shrinkShare);
JCCL_FIELD(nvlsCTAs);
JCCL_FIELD(nChannelsPerNetPeer);
JCCL_FIELD(nvlinkCentricSched);
// To the end that this version's header has: a field that came later fails here.
#if NCCL_VERSION_CODE >= 22900
JCCL_FIELD(graphUsageMode);
JCCL_FIELD(numRmaCtx);
#define JCCL_NEXT_FIELD maxP2pPeers
#else
#define JCCL_NEXT_FIELD graphUsageMode
#endif
#if NCCL_VERSION_CODE >= 23005
JCCL_FIELD(maxP2pPeers);
JCCL_FIELD(graphStreamOrdering);
static_assert(sizeof(ncclConfig_t) == sizeof(jccl::nccl::Config), "the end of ncclConfig_t");
#elif NCCL_VERSION_CODE < 23000
static_assert(sizeof(ncclConfig_t) == offsetof(jccl::nccl::Config, JCCL_NEXT_FIELD), "the end of ncclConfig_t");
#endif
static_assert(NCCL_WIN_COLL_SYMMETRIC == 1);
static_assert(NCCL_CTA_POLICY_DEFAULT == 0 && NCCL_CTA_POLICY_EFFICIENCY == 1 && NCCL_CTA_POLICY_ZERO == 2);
static_assert(NCCL_API_MAGIC == 0xcafebeef && NCCL_CONFIG_UNDEF_INT == INT_MIN);
static_assert(ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclInt64 == 4 && ncclFloat16 == 6);
static_assert(ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9 && ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11);
static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4);
static_assert(ncclUnhandledCudaError == 1 && ncclSystemError == 2 && ncclInvalidUsage == 5 && ncclRemoteError == 6);
static_assert(ncclInProgress == 7 && ncclScalarHostImmediate == 1);
#endif

}  // namespace
