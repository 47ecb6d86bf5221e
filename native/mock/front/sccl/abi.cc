// Lists the ABI of the TPU runtime, tpuDNN and SCCL; see listing.h. Nothing is linked: the headers alone count.
#include "../listing.h"
#include "../tpu/functions.h"
#include "../tpudnn/functions.h"
#include "functions.h"

MOCK_TYPE(tpuStream_t);
MOCK_TYPE(tpuEvent_t);
MOCK_TYPE(tpuKernelModule_t);
MOCK_TYPE(tpuGraph_t);
MOCK_TYPE(tpuGraphExec_t);
MOCK_TYPE(tpuError_t);
MOCK_TYPE(tpuTopology_t);
MOCK_TYPE(tpudnnHandle_t);
MOCK_TYPE(tpudnnStatus_t);
MOCK_TYPE(tpudnnDataType_t);
MOCK_TYPE(tpudnnReduceType_t);
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

void tpuStructs() {
    STRUCT(tpuTopology_t);
    FIELD(tpuTopology_t, device_num);
    FIELD(tpuTopology_t, parent_dev);
    FIELD(tpuTopology_t, child_dev);
    FIELD(tpuTopology_t, parent_pcie);
    FIELD(tpuTopology_t, child_pcie);
    FIELD(tpuTopology_t, parent_port);
    FIELD(tpuTopology_t, child_port);
}

void tpuFunctions() {
    FUNCTION(tpuInit);
    FUNCTION(tpuGetDeviceCount);
    FUNCTION(tpuGetDevice);
    FUNCTION(tpuSetDevice);
    FUNCTION(tpuStreamCreate);
    FUNCTION(tpuStreamDestroy);
    FUNCTION(tpuStreamSynchronize);
    FUNCTION(tpuStreamWaitEvent);
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
    FUNCTION(tpuKernelUnloadModule);
    FUNCTION(tpuKernelLaunch);
    FUNCTION(tpuKernelLaunchAsync);
    FUNCTION(tpuSetupTopology);
    FUNCTION(tpuGetTopology);
    FUNCTION(tpuGetAllMemory);
    FUNCTION(tpuGetFreeMemory);
    FUNCTION(tpuGetPeakMemory);
    FUNCTION(tpuResetPeakMemory);
    FUNCTION(tpuStreamBeginCapture);
    FUNCTION(tpuStreamEndCapture);
    FUNCTION(tpuGraphInstantiate);
    FUNCTION(tpuGraphLaunch);
    FUNCTION(tpuGraphDestroy);
    FUNCTION(tpuGraphExecDestroy);
}

void tpudnnConstants() {
    ENUM(tpudnnStatus_t, TPUDNN_STATUS_SUCCESS);
    ENUM(tpudnnStatus_t, TPUDNN_STATUS_FAILED);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_FP32);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_FP16);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_INT8);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_UINT8);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_INT16);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_UINT16);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_INT32);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_UINT32);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_BF16);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_INT4);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_UINT4);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_FP20);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_FP8E5M2);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_FP8E4M3);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_INT64);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_TF32);
    ENUM(tpudnnDataType_t, TPUDNN_DTYPE_BOOL);
    ENUM(tpudnnReduceType_t, TPUDNN_REDUCE_MEAN);
    ENUM(tpudnnReduceType_t, TPUDNN_REDUCE_SUM);
    ENUM(tpudnnReduceType_t, TPUDNN_REDUCE_MAX);
    ENUM(tpudnnReduceType_t, TPUDNN_REDUCE_MIN);
    ENUM(tpudnnReduceType_t, TPUDNN_REDUCE_PROD);
}

void tpudnnFunctions() {
    FUNCTION(tpudnnCreate);
    FUNCTION(tpudnnDestroy);
    FUNCTION(tpudnnHandleFromStream);
    FUNCTION(tpudnnFlush);
    FUNCTION(tpudnnSync);
    FUNCTION(tpudnnPhysToVirt);
    FUNCTION(tpudnnVirtToPhys);
    FUNCTION(tpudnnGetUniqueId);
    FUNCTION(tpudnnSetupC2CTopology);
    FUNCTION(tpudnnGetC2CTopology);
    FUNCTION(tpudnnCheckChipMap);
    FUNCTION(tpudnnGetC2CRing);
    FUNCTION(tpudnnLaunchKernel);
    FUNCTION(tpudnnMemcpyHostToDevice);
    FUNCTION(tpudnnMemcpyDeviceToHost);
    FUNCTION(tpudnnC2CSend);
    FUNCTION(tpudnnC2CRecv);
    FUNCTION(tpudnnC2CBroadcast);
    FUNCTION(tpudnnC2CAllReduce);
    FUNCTION(tpudnnC2CReduce);
    FUNCTION(tpudnnC2CGather);
    FUNCTION(tpudnnC2CAllGather);
    FUNCTION(tpudnnC2CScatter);
    FUNCTION(tpudnnC2CAllToAll);
}

void scclConstants() {
    ENUM(scclResult_t, scclSuccess);
    ENUM(scclResult_t, scclKernelError);
    ENUM(scclResult_t, scclInvalidArgument);
    ENUM(scclDataType_t, SCCL_DTYPE_FP32);
    ENUM(scclDataType_t, SCCL_DTYPE_FP16);
    ENUM(scclDataType_t, SCCL_DTYPE_INT8);
    ENUM(scclDataType_t, SCCL_DTYPE_UINT8);
    ENUM(scclDataType_t, SCCL_DTYPE_INT16);
    ENUM(scclDataType_t, SCCL_DTYPE_UINT16);
    ENUM(scclDataType_t, SCCL_DTYPE_INT32);
    ENUM(scclDataType_t, SCCL_DTYPE_UINT32);
    ENUM(scclDataType_t, SCCL_DTYPE_BF16);
    ENUM(scclDataType_t, SCCL_DTYPE_INT4);
    ENUM(scclDataType_t, SCCL_DTYPE_UINT4);
    ENUM(scclDataType_t, SCCL_DTYPE_FP20);
    ENUM(scclDataType_t, SCCL_DTYPE_FP8E5M2);
    ENUM(scclDataType_t, SCCL_DTYPE_FP8E4M3);
    ENUM(scclDataType_t, SCCL_DTYPE_INT64);
    ENUM(scclDataType_t, SCCL_DTYPE_BOOL);
    ENUM(scclDataType_t, SCCL_DTYPE_UNKNOWN);
    ENUM(scclReduceType_t, SCCL_REDUCE_MEAN);
    ENUM(scclReduceType_t, SCCL_REDUCE_SUM);
    ENUM(scclReduceType_t, SCCL_REDUCE_MAX);
    ENUM(scclReduceType_t, SCCL_REDUCE_MIN);
    ENUM(scclReduceType_t, SCCL_REDUCE_PROD);
    ENUM(scclReduceType_t, SCCL_REDUCE_L2);
    ENUM(scclReduceType_t, SCCL_REDUCE_L1);
    CONSTANT(SCCL_UNIQUE_ID_BYTES);
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
    tpuStructs();
    tpuFunctions();
    tpudnnConstants();
    tpudnnFunctions();
    scclConstants();
    scclStructs();
    scclFunctions();
}
