// The signatures of libsccl.so.
#pragma once
#include "types.h"

MOCK_API void* scclPhysToVirt(scclHandle_t handle, uint64_t address);
MOCK_API scclResult_t scclSetupC2CTopology();
MOCK_API scclHandle_t scclCreateHandle(int deviceID);
MOCK_API void scclDestoryHandle(scclHandle_t handle);
MOCK_API scclResult_t scclGetUniqueId(scclHandle_t handle, scclUniqueId* id);
MOCK_API scclResult_t scclCommInitRank(scclComm_t* comm, int nRanks, scclUniqueId id, int rank, const int* chipMap);
MOCK_API scclResult_t scclCommDestroy(scclComm_t comm);
MOCK_API scclResult_t scclSend(const void* buff, uint64_t count, scclDataType_t type, int dstRank, scclComm_t comm,
                               scclHandle_t handle);
MOCK_API scclResult_t scclRecv(const void* buff, uint64_t count, scclDataType_t type, int srcRank, scclComm_t comm,
                               scclHandle_t handle);
MOCK_API scclResult_t scclAllGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type,
                                    scclComm_t comm, scclHandle_t handle);
MOCK_API scclResult_t scclBroadcast(void* buff, uint64_t count, scclDataType_t type, int root, scclComm_t comm,
                                    scclHandle_t handle);
MOCK_API scclResult_t scclAllReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                    scclReduceType_t reduceType, scclComm_t comm, scclHandle_t handle);
MOCK_API scclResult_t scclReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                 scclReduceType_t reduceType, int root, scclComm_t comm, scclHandle_t handle);
MOCK_API scclResult_t scclGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type, int root,
                                 scclComm_t comm, scclHandle_t handle);
MOCK_API scclResult_t scclScatter(const void* send, void* recv, uint64_t recvCount, scclDataType_t type, int root,
                                  scclComm_t comm, scclHandle_t handle);
MOCK_API scclResult_t scclAllToAll(const void* send, void* recv, uint64_t recvCount, scclDataType_t type,
                                   scclComm_t comm, scclHandle_t handle);
