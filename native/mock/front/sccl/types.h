// The SCCL ABI the mock speaks, written from its documentation.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../tpudnn/types.h"

typedef struct mockScclComm* scclComm_t;
typedef tpudnnHandle_t scclHandle_t;

#define SCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[SCCL_UNIQUE_ID_BYTES];
} scclUniqueId;

typedef enum { scclSuccess = 0, scclKernelError = 1, scclInvalidArgument = 2 } scclResult_t;

typedef enum {
    SCCL_DTYPE_FP32 = 0,
    SCCL_DTYPE_FP16 = 1,
    SCCL_DTYPE_INT8 = 2,
    SCCL_DTYPE_UINT8 = 3,
    SCCL_DTYPE_UINT16 = 5,
    SCCL_DTYPE_INT32 = 6,
    SCCL_DTYPE_BF16 = 8,
    SCCL_DTYPE_INT64 = 14,
    SCCL_DTYPE_BOOL = 15,
    SCCL_DTYPE_UNKNOWN = -1
} scclDataType_t;

typedef enum {
    SCCL_REDUCE_MEAN = 0,
    SCCL_REDUCE_SUM = 1,
    SCCL_REDUCE_MAX = 2,
    SCCL_REDUCE_MIN = 3,
    SCCL_REDUCE_PROD = 4
} scclReduceType_t;

static_assert(sizeof(scclUniqueId) == 128 && alignof(scclUniqueId) == 1, "unique id");
static_assert(sizeof(scclResult_t) == 4 && sizeof(scclDataType_t) == 4 && sizeof(scclReduceType_t) == 4, "enums");
