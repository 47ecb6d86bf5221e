// The part of the tpuDNN ABI the mock speaks, written from its documentation.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../../engine/base.h"

typedef struct mockTpudnnHandle* tpudnnHandle_t;

typedef enum { TPUDNN_STATUS_SUCCESS = 0, TPUDNN_STATUS_FAILED = 1 } tpudnnStatus_t;
