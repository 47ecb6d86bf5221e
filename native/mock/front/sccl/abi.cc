// Lists the ABI of the TPU runtime, tpuDNN and SCCL; see listing.h. Nothing is linked: the headers alone count.
#include "../listing.h"
#include "../tpu/functions.h"
#include "../tpudnn/functions.h"
#include "functions.h"

MOCK_TYPE(tpuStream_t);
MOCK_TYPE(tpuEvent_t);
MOCK_TYPE(tpuKernelModule_t);
MOCK_TYPE(tpuError_t);
MOCK_TYPE(tpudnnHandle_t);
MOCK_TYPE(tpudnnStatus_t);
MOCK_TYPE(scclComm_t);
MOCK_TYPE(scclUniqueId);
MOCK_TYPE(scclResult_t);
MOCK_TYPE(scclDataType_t);
MOCK_TYPE(scclReduceType_t);

namespace {

void tpuConstants() {
    ENUM(tpuError_t, tpuSuccess);
    ENUM(tpuError_t, tpuErrorInvalidDevice);
    ENUM(tpuError_t, tpuErrorNoDevice);
    ENUM(tpuError_t, tpuErrorFailure);
    ENUM(tpuError_t, tpuErrorTimeout);
    ENUM(tpuError_t, tpuErrorInvalidParam);
    ENUM(tpuError_t, tpuErrorOutOfMemory);
    ENUM(tpuError_t, tpuErrorNotSupported);
    ENUM(tpuError_t, tpuErrorInvalidValue);
    ENUM(tpuError_t, tpuErrorMemoryAllocation);
    ENUM(tpuError_t, tpuErrorKernelModuleLoad);
}

void tpuFunctions() {
    FUNCTION(tpuInit);
    FUNCTION(tpuGetDeviceCount);
    FUNCTION(tpuSetDevice);
    FUNCTION(tpuStreamCreate);
    FUNCTION(tpuStreamSynchronize);
    FUNCTION(tpuEventCreate);
    FUNCTION(tpuEventDestroy);
    FUNCTION(tpuEventRecord);
    FUNCTION(tpuEventQuery);
    FUNCTION(tpuEventSynchronize);
    FUNCTION(tpuEventElapsedTime);
    FUNCTION(tpuMalloc);
    FUNCTION(tpuFree);
    FUNCTION(tpuMemcpyH2D);
    FUNCTION(tpuMemcpyD2H);
    FUNCTION(tpuMemcpyD2D);
    FUNCTION(tpuMemcpyH2DAsync);
    FUNCTION(tpuMemcpyD2HAsync);
    FUNCTION(tpuMemcpyD2DAsync);
    FUNCTION(tpuKernelModuleLoad);
    FUNCTION(tpuKernelModuleLoadFromFile);
}

void tpudnnFunctions() {
    FUNCTION(tpudnnHandleFromStream);
    FUNCTION(tpudnnFlush);
    FUNCTION(tpudnnSync);
    FUNCTION(tpudnnGetUniqueId);
    FUNCTION(tpudnnCheckChipMap);
    FUNCTION(tpudnnGetC2CRing);
}

void scclConstants() {
    ENUM(scclDataType_t, SCCL_DTYPE_FP32);
    ENUM(scclDataType_t, SCCL_DTYPE_FP16);
    ENUM(scclDataType_t, SCCL_DTYPE_INT8);
    ENUM(scclDataType_t, SCCL_DTYPE_UINT8);
    ENUM(scclDataType_t, SCCL_DTYPE_INT32);
    ENUM(scclDataType_t, SCCL_DTYPE_BF16);
    ENUM(scclDataType_t, SCCL_DTYPE_INT64);
    ENUM(scclReduceType_t, SCCL_REDUCE_SUM);
    ENUM(scclReduceType_t, SCCL_REDUCE_MAX);
    ENUM(scclReduceType_t, SCCL_REDUCE_MIN);
    ENUM(scclReduceType_t, SCCL_REDUCE_PROD);
}

void scclStructs() {
    STRUCT(scclUniqueId);
    FIELD(scclUniqueId, internal);
}

void scclFunctions() {
    FUNCTION(scclPhysToVirt);
    FUNCTION(scclSetupC2CTopology);
    FUNCTION(scclCreateHandle);
    FUNCTION(scclDestoryHandle);
    FUNCTION(scclGetUniqueId);
    FUNCTION(scclCommInitRank);
    FUNCTION(scclCommDestroy);
    FUNCTION(scclSend);
    FUNCTION(scclRecv);
    FUNCTION(scclAllGather);
    FUNCTION(scclBroadcast);
    FUNCTION(scclAllReduce);
    FUNCTION(scclReduce);
    FUNCTION(scclGather);
    FUNCTION(scclScatter);
    FUNCTION(scclAllToAll);
}

}  // namespace

int main() {
    tpuConstants();
    tpuFunctions();
    tpudnnFunctions();
    scclConstants();
    scclStructs();
    scclFunctions();
}
