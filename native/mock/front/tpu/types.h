// The part of the TPU runtime ABI the mock speaks, written from its documentation. Handles are void* there; they have
// types of their own here, so that the compiler and the ABI listing tell a stream from an event.
#pragma once
#include <cstddef>
#include <cstdint>

typedef struct mockTpuStream* tpuStream_t;
typedef struct mockTpuEvent* tpuEvent_t;
typedef struct mockTpuModule* tpuKernelModule_t;

typedef enum {
    tpuSuccess = 0,
    tpuErrorInvalidDevice = 1,
    tpuErrorNoDevice = 2,
    tpuErrorFailure = 3,
    tpuErrorTimeout = 4,
    tpuErrorInvalidParam = 5,
    tpuErrorOutOfMemory = 6,
    tpuErrorNotSupported = 7,
    tpuErrorInvalidValue = 8,
    tpuErrorMemoryAllocation = 9,
    tpuErrorKernelModuleLoad = 10
} tpuError_t;
