// Compiled only with MOCK_CHECK: the types the mock is normally built with against the real ones.
#include <cstddef>
#include <nccl.h>

#undef NCCL_API_MAGIC
#undef NCCL_SPLIT_NOCOLOR
#undef NCCL_SHRINK_ABORT
namespace own {
#include "types.h"
}

#define SAME(name) static_assert(static_cast<int>(own::name) == static_cast<int>(::name), #name)
SAME(ncclUnhandledCudaError);
SAME(ncclSystemError);
SAME(ncclInternalError);
SAME(ncclInvalidArgument);
SAME(ncclInvalidUsage);
SAME(ncclRemoteError);
SAME(ncclInProgress);
SAME(ncclSum);
SAME(ncclProd);
SAME(ncclMax);
SAME(ncclMin);
SAME(ncclAvg);
SAME(ncclMaxRedOp);
SAME(ncclInt8);
SAME(ncclUint8);
SAME(ncclInt32);
SAME(ncclUint32);
SAME(ncclInt64);
SAME(ncclUint64);
SAME(ncclFloat16);
SAME(ncclFloat32);
SAME(ncclFloat64);
SAME(ncclBfloat16);
SAME(ncclFloat8e4m3);
SAME(ncclFloat8e5m2);
SAME(ncclScalarDevice);
SAME(ncclScalarHostImmediate);

static_assert(sizeof(own::ncclUniqueId) == sizeof(::ncclUniqueId), "unique id");
static_assert(sizeof(own::ncclSimInfo_t) == sizeof(::ncclSimInfo_t), "simulation info");

#define PLACE(field) static_assert(offsetof(own::ncclConfig_t, field) == offsetof(::ncclConfig_t, field), #field)
PLACE(magic);
PLACE(version);
PLACE(blocking);
PLACE(cgaClusterSize);
PLACE(minCTAs);
PLACE(maxCTAs);
PLACE(netName);
PLACE(splitShare);
PLACE(trafficClass);
PLACE(commName);
PLACE(collnetEnable);
PLACE(CTAPolicy);
PLACE(shrinkShare);
PLACE(nvlsCTAs);
PLACE(nChannelsPerNetPeer);
PLACE(nvlinkCentricSched);
PLACE(graphUsageMode);
PLACE(numRmaCtx);
PLACE(maxP2pPeers);
PLACE(graphStreamOrdering);
