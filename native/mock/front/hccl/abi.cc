// Lists the ABI of ACL and HCCL; see listing.h. Nothing is linked: the headers alone count.
#include "../acl/functions.h"
#include "../listing.h"
#include "functions.h"

MOCK_TYPE(aclrtStream);
MOCK_TYPE(aclrtEvent);
MOCK_TYPE(aclrtMemcpyKind);
MOCK_TYPE(aclrtMemMallocPolicy);
MOCK_TYPE(aclrtStreamStatus);
MOCK_TYPE(aclrtEventRecordedStatus);
MOCK_TYPE(aclrtEventWaitStatus);
MOCK_TYPE(aclCANNPackageName);
MOCK_TYPE(aclCANNPackageVersion);
MOCK_TYPE(HcclComm);
MOCK_TYPE(HcclResult);
MOCK_TYPE(HcclReduceOp);
MOCK_TYPE(HcclDataType);
MOCK_TYPE(HcclRootInfo);
MOCK_TYPE(HcclCommConfig);
MOCK_TYPE(HcclSendRecvItem);

namespace {

void aclConstants() {
    ENUM(aclrtMemcpyKind, ACL_MEMCPY_HOST_TO_DEVICE);
    ENUM(aclrtMemcpyKind, ACL_MEMCPY_DEVICE_TO_HOST);
    ENUM(aclrtMemcpyKind, ACL_MEMCPY_DEVICE_TO_DEVICE);
    ENUM(aclrtMemMallocPolicy, ACL_MEM_MALLOC_HUGE_FIRST);
    ENUM(aclrtStreamStatus, ACL_STREAM_STATUS_COMPLETE);
    ENUM(aclrtEventRecordedStatus, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    ENUM(aclrtEventWaitStatus, ACL_EVENT_WAIT_STATUS_COMPLETE);
    ENUM(aclError, ACL_ERROR_REPEAT_INITIALIZE);
    ENUM(aclError, ACL_ERROR_API_NOT_SUPPORT);
    CONSTANT(ACL_STREAM_FAST_LAUNCH);
    CONSTANT(ACL_STREAM_FAST_SYNC);
    CONSTANT(ACL_EVENT_SYNC);
    CONSTANT(ACL_EVENT_TIME_LINE);
}

void aclStructs() {
    STRUCT(aclCANNPackageVersion);
    FIELD(aclCANNPackageVersion, version);
}

void aclFunctions() {
    FUNCTION(aclInit);
    FUNCTION(aclFinalize);
    FUNCTION(aclFinalizeReference);
    FUNCTION(aclGetRecentErrMsg);
    FUNCTION(aclrtGetDeviceCount);
    FUNCTION(aclrtSetDevice);
    FUNCTION(aclrtSynchronizeDevice);
    FUNCTION(aclrtGetPhyDevIdByLogicDevId);
    FUNCTION(aclrtGetSocName);
    FUNCTION(aclsysGetCANNVersion);
    FUNCTION(aclrtCreateStreamWithConfig);
    FUNCTION(aclrtDestroyStream);
    FUNCTION(aclrtSynchronizeStream);
    FUNCTION(aclrtSynchronizeStreamWithTimeout);
    FUNCTION(aclrtStreamQuery);
    FUNCTION(aclrtSetStreamFailureMode);
    FUNCTION(aclrtCreateEventWithFlag);
    FUNCTION(aclrtCreateEventExWithFlag);
    FUNCTION(aclrtDestroyEvent);
    FUNCTION(aclrtRecordEvent);
    FUNCTION(aclrtStreamWaitEvent);
    FUNCTION(aclrtQueryEventStatus);
    FUNCTION(aclrtQueryEventWaitStatus);
    FUNCTION(aclrtSynchronizeEvent);
    FUNCTION(aclrtSynchronizeEventWithTimeout);
    FUNCTION(aclrtEventElapsedTime);
    FUNCTION(aclrtMalloc);
    FUNCTION(aclrtFree);
    FUNCTION(aclrtMallocHost);
    FUNCTION(aclrtFreeHost);
    FUNCTION(aclrtMemcpy);
    FUNCTION(aclrtMemcpyAsync);
}

void hcclConstants() {
    ENUM(HcclResult, HCCL_E_NOT_SUPPORT);
    ENUM(HcclResult, HCCL_E_TIMEOUT);
    ENUM(HcclResult, HCCL_E_AGAIN);
    ENUM(HcclResult, HCCL_E_REMOTE);
    ENUM(HcclReduceOp, HCCL_REDUCE_SUM);
    ENUM(HcclReduceOp, HCCL_REDUCE_PROD);
    ENUM(HcclReduceOp, HCCL_REDUCE_MAX);
    ENUM(HcclReduceOp, HCCL_REDUCE_MIN);
    ENUM(HcclDataType, HCCL_DATA_TYPE_INT8);
    ENUM(HcclDataType, HCCL_DATA_TYPE_INT16);
    ENUM(HcclDataType, HCCL_DATA_TYPE_INT32);
    ENUM(HcclDataType, HCCL_DATA_TYPE_FP16);
    ENUM(HcclDataType, HCCL_DATA_TYPE_FP32);
    ENUM(HcclDataType, HCCL_DATA_TYPE_INT64);
    ENUM(HcclDataType, HCCL_DATA_TYPE_UINT8);
    ENUM(HcclDataType, HCCL_DATA_TYPE_FP64);
    ENUM(HcclDataType, HCCL_DATA_TYPE_BFP16);
}

void hcclStructs() {
    STRUCT(HcclRootInfo);
    STRUCT(HcclCommConfig);
    FIELD(HcclCommConfig, size);
    FIELD(HcclCommConfig, magic);
    FIELD(HcclCommConfig, version);
    FIELD(HcclCommConfig, hcclBufferSize);
    FIELD(HcclCommConfig, hcclDeterministic);
    FIELD(HcclCommConfig, hcclUdi);
    FIELD(HcclCommConfig, hcclOpExpansionMode);
    FIELD(HcclCommConfig, hcclRdmaTrafficClass);
    FIELD(HcclCommConfig, hcclRdmaServiceLevel);
    FIELD(HcclCommConfig, hcclExecTimeOut);
    FIELD(HcclCommConfig, hcclAlgo);
    FIELD(HcclCommConfig, hcclQos);
    FIELD(HcclCommConfig, hcclSymWinMaxMemSizePerRank);
    FIELD(HcclCommConfig, hcclChannelSqDepth);
    STRUCT(HcclSendRecvItem);
    FIELD(HcclSendRecvItem, buf);
    FIELD(HcclSendRecvItem, count);
    FIELD(HcclSendRecvItem, dataType);
    FIELD(HcclSendRecvItem, remoteRank);
}

void hcclFunctions() {
    FUNCTION(HcclGetRootInfo);
    FUNCTION(HcclCommInitRootInfo);
    FUNCTION(HcclCommInitRootInfoConfig);
    FUNCTION(HcclCommInitClusterInfo);
    FUNCTION(HcclCommInitClusterInfoConfig);
    FUNCTION(HcclCreateSubCommConfig);
    FUNCTION(HcclCommDestroy);
    FUNCTION(HcclGetCommAsyncError);
    FUNCTION(HcclGetErrorString);
    FUNCTION(HcclGetCommConfigCapability);
    FUNCTION(HcclAllReduce);
    FUNCTION(HcclBroadcast);
    FUNCTION(HcclReduce);
    FUNCTION(HcclReduceScatter);
    FUNCTION(HcclReduceScatterV);
    FUNCTION(HcclAllGather);
    FUNCTION(HcclAllGatherV);
    FUNCTION(HcclScatter);
    FUNCTION(HcclSend);
    FUNCTION(HcclRecv);
    FUNCTION(HcclAlltoAll);
    FUNCTION(HcclAlltoAllV);
    FUNCTION(HcclAlltoAllVC);
    FUNCTION(HcclBatchSendRecv);
}

}  // namespace

int main() {
    aclConstants();
    aclStructs();
    aclFunctions();
    hcclConstants();
    hcclStructs();
    hcclFunctions();
}
