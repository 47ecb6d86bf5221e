// The signatures of libtpudnn.so.
#pragma once
#include "types.h"

#define MOCK_API extern "C" __attribute__((visibility("default")))

MOCK_API tpudnnHandle_t tpudnnCreate(int deviceID);
MOCK_API void tpudnnDestroy(tpudnnHandle_t handle);
MOCK_API tpudnnHandle_t tpudnnHandleFromStream(int deviceID, void* stream, void* module);
MOCK_API tpudnnStatus_t tpudnnFlush(tpudnnHandle_t handle);
MOCK_API tpudnnStatus_t tpudnnSync(tpudnnHandle_t handle);
MOCK_API void* tpudnnPhysToVirt(tpudnnHandle_t handle, uint64_t address);
MOCK_API uint64_t tpudnnVirtToPhys(tpudnnHandle_t handle, void* address);
MOCK_API tpudnnStatus_t tpudnnGetUniqueId(tpudnnHandle_t handle, char* id);
MOCK_API tpudnnStatus_t tpudnnSetupC2CTopology();
MOCK_API tpudnnStatus_t tpudnnGetC2CTopology(int* chipNum, const int** topology);
MOCK_API tpudnnStatus_t tpudnnCheckChipMap(int worldSize, int* chipMap);
MOCK_API tpudnnStatus_t tpudnnGetC2CRing(int worldSize, int* chipMap);
MOCK_API tpudnnStatus_t tpudnnLaunchKernel(tpudnnHandle_t handle, const char* name, void* args, size_t bytes,
                                           int groupNum, int groupSize);
MOCK_API tpudnnStatus_t tpudnnMemcpyHostToDevice(tpudnnHandle_t handle, uint64_t device, void* host, size_t bytes);
MOCK_API tpudnnStatus_t tpudnnMemcpyDeviceToHost(tpudnnHandle_t handle, void* host, uint64_t device, size_t bytes);

MOCK_API tpudnnStatus_t tpudnnC2CSend(tpudnnHandle_t handle, void* buff, uint64_t count, tpudnnDataType_t type,
                                      int peer, const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CRecv(tpudnnHandle_t handle, void* buff, uint64_t count, tpudnnDataType_t type,
                                      int peer, const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CBroadcast(tpudnnHandle_t handle, void* buff, uint64_t count, tpudnnDataType_t type,
                                           int root, const char* uuid, int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count,
                                           tpudnnDataType_t type, tpudnnReduceType_t reduce, const char* uuid,
                                           int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count,
                                        tpudnnDataType_t type, tpudnnReduceType_t reduce, int root, const char* uuid,
                                        int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                        uint64_t recvCount, tpudnnDataType_t type, int root, const char* uuid,
                                        int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                           uint64_t recvCount, const char* uuid, tpudnnDataType_t type, int nranks,
                                           int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CScatter(tpudnnHandle_t handle, void* send, tpudnnDataType_t sendType, void* recv,
                                         uint64_t recvCount, tpudnnDataType_t recvType, int root, const char* uuid,
                                         int nranks, int rank, const int* chipMap);
MOCK_API tpudnnStatus_t tpudnnC2CAllToAll(tpudnnHandle_t handle, void* send, tpudnnDataType_t sendType, void* recv,
                                          uint64_t recvCount, tpudnnDataType_t recvType, const char* uuid, int nranks,
                                          int rank, const int* chipMap);
