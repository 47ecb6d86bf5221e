// The NCCL ABI the mock speaks, written from its documentation. With MOCK_CHECK the real header takes its place, so
// that the compiler compares every signature.
#pragma once
#include <cstddef>

#ifdef MOCK_CHECK
#include <nccl.h>
#else
typedef struct CUstream_st* cudaStream_t;
#include "types.h"
#endif

#define MOCK_API extern "C" __attribute__((visibility("default")))

MOCK_API ncclResult_t ncclGetUniqueId(ncclUniqueId* out);
MOCK_API ncclResult_t ncclGroupStart();
MOCK_API ncclResult_t ncclGroupEnd();
