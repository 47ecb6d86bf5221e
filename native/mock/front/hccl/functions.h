// The signatures of libhccl.so and libhcomm.so.
#pragma once
#include "../../engine/base.h"
#include "types.h"

MOCK_API HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo);
MOCK_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm);
MOCK_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                               const HcclCommConfig* config, HcclComm* comm);
MOCK_API HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm);
MOCK_API HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                                  HcclComm* comm);
MOCK_API HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                            uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm);
MOCK_API HcclResult HcclCommDestroy(HcclComm comm);
MOCK_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError);
MOCK_API const char* HcclGetErrorString(HcclResult code);
MOCK_API uint32_t HcclGetCommConfigCapability();

/** Not of the vendor: 0 when the chip has a function for so many ranks, 1 when not, 2 when it then does nothing. */
MOCK_API int mockHcclSupports(const char* function, uint32_t ranks);

/** Not of the vendor: writes which functions made or used communicators since the last time; answers the length. */
MOCK_API size_t mockHcclCalled(char* text, size_t bytes);

MOCK_API HcclResult HcclAllReduce(void* send, void* recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                                  HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
                                  aclrtStream stream);
MOCK_API HcclResult HcclReduce(void* send, void* recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                               uint32_t root, HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclReduceScatter(void* send, void* recv, uint64_t recvCount, HcclDataType type, HcclReduceOp op,
                                      HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclReduceScatterV(void* send, const void* sendCounts, const void* sendDispls, void* recv,
                                       uint64_t recvCount, HcclDataType type, HcclReduceOp op, HcclComm comm,
                                       aclrtStream stream);
MOCK_API HcclResult HcclAllGather(void* send, void* recv, uint64_t sendCount, HcclDataType type, HcclComm comm,
                                  aclrtStream stream);
MOCK_API HcclResult HcclAllGatherV(void* send, uint64_t sendCount, void* recv, const void* recvCounts,
                                   const void* recvDispls, HcclDataType type, HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclScatter(void* send, void* recv, uint64_t recvCount, HcclDataType type, uint32_t root,
                                HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclSend(void* send, uint64_t count, HcclDataType type, uint32_t destRank, HcclComm comm,
                             aclrtStream stream);
MOCK_API HcclResult HcclRecv(void* recv, uint64_t count, HcclDataType type, uint32_t srcRank, HcclComm comm,
                             aclrtStream stream);
MOCK_API HcclResult HcclAlltoAll(const void* send, uint64_t sendCount, HcclDataType sendType, const void* recv,
                                 uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclAlltoAllV(const void* send, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                                  const void* recv, const void* recvCounts, const void* rdispls, HcclDataType recvType,
                                  HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclAlltoAllVC(const void* send, const void* sendCountMatrix, HcclDataType sendType,
                                   const void* recv, HcclDataType recvType, HcclComm comm, aclrtStream stream);
MOCK_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t itemNum, HcclComm comm, aclrtStream stream);
