// The part of the HCCL ABI the mock speaks, written from its documentation.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../acl/types.h"

typedef struct mockHcclComm* HcclComm;

typedef enum {
    HCCL_SUCCESS = 0,
    HCCL_E_PARA = 1,
    HCCL_E_PTR = 2,
    HCCL_E_MEMORY = 3,
    HCCL_E_INTERNAL = 4,
    HCCL_E_NOT_SUPPORT = 5,
    HCCL_E_UNAVAIL = 7,
    HCCL_E_TIMEOUT = 9,
    HCCL_E_TCP_CONNECT = 11,
    HCCL_E_RUNTIME = 15,
    HCCL_E_AGAIN = 20,
    HCCL_E_REMOTE = 21,
    HCCL_E_OOM = 24
} HcclResult;

typedef enum {
    HCCL_REDUCE_SUM = 0,
    HCCL_REDUCE_PROD = 1,
    HCCL_REDUCE_MAX = 2,
    HCCL_REDUCE_MIN = 3
} HcclReduceOp;

typedef enum {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_HIF8 = 14,
    HCCL_DATA_TYPE_FP8E4M3 = 15,
    HCCL_DATA_TYPE_FP8E5M2 = 16,
    HCCL_DATA_TYPE_FP8E8M0 = 17
} HcclDataType;

typedef enum { HCCL_SEND = 0, HCCL_RECV = 1, HCCL_SEND_RECV_RESERVED = 2 } HcclSendRecvType;

typedef enum {
    HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
    HCCL_COMM_CONFIG_WORLD_RANKID = 5
} HcclCommConfigCapability;

#define HCCL_ROOT_INFO_BYTES 4108
typedef struct {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

#define HCCL_COMM_CONFIG_MAGIC_WORD 0xF0F0F0F0u
#define HCCL_COMM_NAME_BYTES 128
#define HCCL_NOT_SET 0xFFFFFFFFu

/** As of version 11; callers pass shorter ones and say so in `size`. */
typedef struct {
    size_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
    uint32_t hcclBufferSize;
    uint32_t hcclDeterministic;
    char hcclCommName[128];
    char hcclUdi[128];
    uint32_t hcclOpExpansionMode;
    uint32_t hcclRdmaTrafficClass;
    uint32_t hcclRdmaServiceLevel;
    uint32_t hcclWorldRankID;
    uint64_t hcclJobID;
    uint8_t aclGraphZeroCopyEnable;
    int32_t hcclExecTimeOut;
    char hcclAlgo[1600];
    char hcclRetryEnable[50];
    char hcclRetryParams[128];
    char hcclBufferName[128];
    uint32_t hcclQos;
    uint64_t hcclSymWinMaxMemSizePerRank;
    uint32_t hcclChannelSqDepth;
} HcclCommConfig;

typedef struct {
    HcclSendRecvType sendRecvType;
    void* buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

// The documented places, so that a slip above does not compile.
static_assert(sizeof(HcclRootInfo) == 4108 && alignof(HcclRootInfo) == 1, "root info");
static_assert(sizeof(HcclSendRecvItem) == 32, "item");
static_assert(offsetof(HcclSendRecvItem, buf) == 8 && offsetof(HcclSendRecvItem, remoteRank) == 28, "item");
static_assert(sizeof(HcclCommConfig) == 2248, "config");
static_assert(offsetof(HcclCommConfig, hcclOpExpansionMode) == 288, "config");
static_assert(offsetof(HcclCommConfig, hcclJobID) == 304, "config");
static_assert(offsetof(HcclCommConfig, hcclExecTimeOut) == 316, "config");
static_assert(offsetof(HcclCommConfig, hcclBufferName) == 2098, "config");
static_assert(offsetof(HcclCommConfig, hcclQos) == 2228, "config");
static_assert(offsetof(HcclCommConfig, hcclChannelSqDepth) == 2240, "config");
static_assert(sizeof(HcclResult) == 4 && sizeof(HcclDataType) == 4, "enums");
