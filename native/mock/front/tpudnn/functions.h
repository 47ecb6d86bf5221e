// The signatures of libtpudnn.so.
#pragma once
#include "types.h"

MOCK_API tpudnnHandle_t tpudnnHandleFromStream(int deviceID, void* stream, void* module);
MOCK_API tpudnnStatus_t tpudnnFlush(tpudnnHandle_t handle);
MOCK_API tpudnnStatus_t tpudnnSync(tpudnnHandle_t handle);
MOCK_API tpudnnStatus_t tpudnnGetUniqueId(tpudnnHandle_t handle, char* id);
MOCK_API tpudnnHandle_t tpudnnCreate(int deviceID);
MOCK_API void tpudnnDestroy(tpudnnHandle_t handle);
MOCK_API void* tpudnnPhysToVirt(tpudnnHandle_t handle, uint64_t address);
MOCK_API tpudnnStatus_t tpudnnSetupC2CTopology();
MOCK_API tpudnnStatus_t tpudnnCheckChipMap(int worldSize, int* chipMap);
MOCK_API tpudnnStatus_t tpudnnGetC2CRing(int worldSize, int* chipMap);

// What libsccl calls. A type is a number of tpuDNN, which is that of SCCL but for bool.
MOCK_API tpudnnStatus_t tpudnnC2CSend(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int peer,
                                      const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CRecv(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int peer,
                                      const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CBroadcast(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int root,
                                           const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count, int type,
                                           int reduce, const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count, int type,
                                        int reduce, int root, const char* uuid, int nranks, int rank,
                                        const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                        uint64_t recvCount, int type, int root, const char* uuid, int nranks, int rank,
                                        const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                           uint64_t recvCount, const char* uuid, int type, int nranks, int rank,
                                           const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CScatter(tpudnnHandle_t handle, void* send, int sendType, void* recv,
                                         uint64_t recvCount, int recvType, int root, const char* uuid, int nranks,
                                         int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllToAll(tpudnnHandle_t handle, void* send, int sendType, void* recv,
                                          uint64_t recvCount, int recvType, const char* uuid, int nranks, int rank,
                                          const int* chipMap);
