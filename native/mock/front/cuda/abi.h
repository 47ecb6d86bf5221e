// The part of the CUDA 13 runtime ABI the mock speaks, written from its documentation. With MOCK_CHECK the real
// headers take its place, so that the compiler compares every signature.
#pragma once
#include <cstddef>

#ifdef MOCK_CHECK
#include <cuda_runtime_api.h>
#else
#include "types.h"
#endif

#define MOCK_API extern "C" __attribute__((visibility("default")))
