// The part of the tpuDNN ABI the mock speaks, written from its documentation.
#pragma once
#include <cstddef>
#include <cstdint>

typedef struct mockTpudnnHandle* tpudnnHandle_t;

typedef enum { TPUDNN_STATUS_SUCCESS = 0, TPUDNN_STATUS_FAILED = 1 } tpudnnStatus_t;

typedef enum {
    TPUDNN_DTYPE_FP32 = 0,
    TPUDNN_DTYPE_FP16 = 1,
    TPUDNN_DTYPE_INT8 = 2,
    TPUDNN_DTYPE_UINT8 = 3,
    TPUDNN_DTYPE_INT16 = 4,
    TPUDNN_DTYPE_UINT16 = 5,
    TPUDNN_DTYPE_INT32 = 6,
    TPUDNN_DTYPE_UINT32 = 7,
    TPUDNN_DTYPE_BF16 = 8,
    TPUDNN_DTYPE_INT4 = 9,
    TPUDNN_DTYPE_UINT4 = 10,
    TPUDNN_DTYPE_FP20 = 11,
    TPUDNN_DTYPE_FP8E5M2 = 12,
    TPUDNN_DTYPE_FP8E4M3 = 13,
    TPUDNN_DTYPE_INT64 = 14,
    TPUDNN_DTYPE_TF32 = 15,
    TPUDNN_DTYPE_BOOL = 16
} tpudnnDataType_t;

typedef enum {
    TPUDNN_REDUCE_MEAN = 0,
    TPUDNN_REDUCE_SUM = 1,
    TPUDNN_REDUCE_MAX = 2,
    TPUDNN_REDUCE_MIN = 3,
    TPUDNN_REDUCE_PROD = 4
} tpudnnReduceType_t;
