// The part of the TPU runtime ABI the mock speaks, written from its documentation. Handles are void* there; they have
// types of their own here, so that the compiler and the ABI listing tell a stream from an event.
#pragma once
#include <cstddef>
#include <cstdint>

typedef struct mockTpuStream* tpuStream_t;
typedef struct mockTpuEvent* tpuEvent_t;
typedef struct mockTpuModule* tpuKernelModule_t;
typedef struct mockTpuGraph* tpuGraph_t;
typedef struct mockTpuGraphExec* tpuGraphExec_t;

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

typedef struct {
    uint32_t device_num;
    uint16_t parent_dev;
    uint16_t child_dev;
    uint8_t parent_pcie;
    uint8_t child_pcie;
    int8_t parent_port;
    int8_t child_port;
} tpuTopology_t;

static_assert(sizeof(tpuTopology_t) == 12 && offsetof(tpuTopology_t, parent_port) == 10, "topology");
