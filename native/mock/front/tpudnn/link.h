// What libsccl asks of libtpudnn beyond its public functions.
#pragma once
#include "../../engine/comm/types.h"
#include "types.h"

namespace mock::tpudnn {

/** An operation as SCCL's caller asked for it, with the numbers that SCCL has for types and reductions. */
struct Request {
    const char* name;
    Kind kind;
    const void* send;
    const void* recv;
    /** As the engine counts. */
    uint64_t count;
    int type;
    int reduce;
    int root;
    const char* uuid;
    int size;
    int rank;
    const int* chipMap;
};

}  // namespace mock::tpudnn

MOCK_API tpudnnHandle_t mockTpudnnCreate(int device);
MOCK_API void mockTpudnnDestroy(tpudnnHandle_t handle);
MOCK_API void* mockTpudnnTranslate(tpudnnHandle_t handle, uint64_t address);
MOCK_API int mockTpudnnSetupTopology();
MOCK_API int mockTpudnnIssue(tpudnnHandle_t handle, const mock::tpudnn::Request& request);
