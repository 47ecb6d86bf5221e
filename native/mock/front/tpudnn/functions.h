// The signatures of libtpudnn.so.
#pragma once
#include "types.h"

MOCK_API tpudnnHandle_t tpudnnHandleFromStream(int deviceID, void* stream, void* module);
MOCK_API tpudnnStatus_t tpudnnFlush(tpudnnHandle_t handle);
MOCK_API tpudnnStatus_t tpudnnSync(tpudnnHandle_t handle);
MOCK_API tpudnnStatus_t tpudnnGetUniqueId(tpudnnHandle_t handle, char* id);
MOCK_API tpudnnStatus_t tpudnnCheckChipMap(int worldSize, int* chipMap);
MOCK_API tpudnnStatus_t tpudnnGetC2CRing(int worldSize, int* chipMap);
