// The part of the CUDA 13 runtime ABI the mock speaks, written from its documentation. The glue of JavaCPP's presets,
// which is compiled with the vendor's headers, is what it is tried with.
#pragma once
#include <cstddef>

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUuserObject_st* cudaUserObject_t;
typedef struct CUfunc_st* cudaFunction_t;
typedef struct CUmemPoolHandle_st* cudaMemPool_t;
typedef struct cudaGraphEdgeData_st cudaGraphEdgeData;
typedef void (*cudaHostFn_t)(void* userData);

enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorPeerAccessAlreadyEnabled = 704,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorNotPermitted = 800,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906,
    cudaErrorCapturedEvent = 907,
    cudaErrorStreamCaptureWrongThread = 908,
    cudaErrorUnknown = 999
};
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2
};

enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone = 0,
    cudaStreamCaptureStatusActive = 1,
    cudaStreamCaptureStatusInvalidated = 2
};

enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrGPUDirectRDMASupported = 116
};

enum cudaLimit { cudaLimitStackSize = 0 };

/** What is not named is 0. */
struct cudaDeviceProp {
    char name[256];
    char uuid[16];
    char luid[16];
    size_t totalGlobalMem;
    char unnamed1[64];
    int major;
    int minor;
    char unnamed2[16];
    int multiProcessorCount;
    char unnamed3[180];
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    char unnamed4[428];
};
static_assert(sizeof(cudaDeviceProp) == 1008 && offsetof(cudaDeviceProp, totalGlobalMem) == 288 &&
              offsetof(cudaDeviceProp, major) == 360 && offsetof(cudaDeviceProp, multiProcessorCount) == 384 &&
              offsetof(cudaDeviceProp, pciBusID) == 568);

enum cudaMemoryType { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2 };

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
    long reserved[8];
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    char unnamed[104];
};
static_assert(sizeof(cudaFuncAttributes) == 144);

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

struct cudaIpcMemHandle_t {
    char reserved[64];
};

struct cudaMemPoolProps {
    int allocType;
    int handleTypes;
    struct {
        int type;
        int id;
    } location;
    char unnamed[72];
};
static_assert(sizeof(cudaMemPoolProps) == 88);

enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };

enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1,
    cudaDriverEntryPointVersionNotSufficent = 2
};

struct dim3 {
    unsigned int x, y, z;
};

#define cudaStreamNonBlocking 0x01
#define cudaEventDisableTiming 0x02
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(1))
#define cudaStreamSetCaptureDependencies 0x1
#define cudaEventWaitExternal 0x01
#define cudaGraphUserObjectMove 0x1
#define cudaUserObjectNoDestructorSync 0x1
#define cudaIpcMemLazyEnablePeerAccess 0x01
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaMemAllocationTypePinned 0x1
#define cudaMemLocationTypeDevice 1
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
