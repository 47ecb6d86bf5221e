// Compiled only with MOCK_CHECK: the types the mock is normally built with against the real ones.
#include <cstddef>
#include <cuda_runtime_api.h>

namespace own {
#include "types.h"
}

#define SAME(name) static_assert(static_cast<int>(own::name) == static_cast<int>(::name), #name)
SAME(cudaErrorInvalidValue);
SAME(cudaErrorMemoryAllocation);
SAME(cudaErrorInvalidMemcpyDirection);
SAME(cudaErrorInvalidDeviceFunction);
SAME(cudaErrorNoDevice);
SAME(cudaErrorInvalidDevice);
SAME(cudaErrorInvalidResourceHandle);
SAME(cudaErrorNotReady);
SAME(cudaErrorIllegalAddress);
SAME(cudaErrorPeerAccessAlreadyEnabled);
SAME(cudaErrorPeerAccessNotEnabled);
SAME(cudaErrorHostMemoryAlreadyRegistered);
SAME(cudaErrorHostMemoryNotRegistered);
SAME(cudaErrorNotPermitted);
SAME(cudaErrorNotSupported);
SAME(cudaErrorStreamCaptureUnsupported);
SAME(cudaErrorStreamCaptureInvalidated);
SAME(cudaErrorStreamCaptureMerge);
SAME(cudaErrorStreamCaptureUnmatched);
SAME(cudaErrorStreamCaptureUnjoined);
SAME(cudaErrorStreamCaptureIsolation);
SAME(cudaErrorStreamCaptureImplicit);
SAME(cudaErrorCapturedEvent);
SAME(cudaErrorStreamCaptureWrongThread);
SAME(cudaErrorUnknown);
SAME(cudaMemcpyDefault);
SAME(cudaMemoryTypeManaged);
SAME(cudaStreamCaptureModeRelaxed);
SAME(cudaStreamCaptureStatusInvalidated);
SAME(cudaDevAttrMaxThreadsPerBlock);
SAME(cudaDevAttrWarpSize);
SAME(cudaDevAttrMultiProcessorCount);
SAME(cudaDevAttrPciBusId);
SAME(cudaDevAttrUnifiedAddressing);
SAME(cudaDevAttrComputeCapabilityMajor);
SAME(cudaDevAttrComputeCapabilityMinor);
SAME(cudaDevAttrStreamPrioritiesSupported);
SAME(cudaDevAttrMemoryPoolsSupported);

static_assert(sizeof(own::cudaPointerAttributes) == sizeof(::cudaPointerAttributes), "pointer attributes");
static_assert(sizeof(own::cudaGraphEdgeData) == sizeof(::cudaGraphEdgeData), "edge data");
static_assert(sizeof(own::dim3) == sizeof(::dim3), "dim3");
static_assert(sizeof(own::cudaDeviceProp) == sizeof(::cudaDeviceProp), "device properties");

#define PLACE(field) static_assert(offsetof(own::cudaDeviceProp, field) == offsetof(::cudaDeviceProp, field), #field)
PLACE(uuid);
PLACE(totalGlobalMem);
PLACE(warpSize);
PLACE(maxThreadsPerBlock);
PLACE(major);
PLACE(minor);
PLACE(multiProcessorCount);
PLACE(pciBusID);
PLACE(asyncEngineCount);
PLACE(unifiedAddressing);
PLACE(streamPrioritiesSupported);
