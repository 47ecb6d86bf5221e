// What the two files of ACL and HCCL cases share.
#pragma once
#include "../front/acl/functions.h"
#include "../front/hccl/functions.h"
#include "runner.h"

using Context = ContextOf<HcclRootInfo>;
using Case = CaseOf<HcclRootInfo>;

/** Of hccl_chips.cc. */
void addChipCases(std::vector<Case>& cases);

constexpr HcclDataType fp32 = HCCL_DATA_TYPE_FP32;

inline void use(int device) {
    int initialized = aclInit(nullptr);
    CHECK(initialized == ACL_SUCCESS || initialized == ACL_ERROR_REPEAT_INITIALIZE);
    OK(aclrtSetDevice(device));
}

inline aclrtStream newStream() {
    aclrtStream stream = nullptr;
    OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH));
    return stream;
}

inline HcclComm join(const Context& context) {
    use(context.rank);
    HcclComm comm = nullptr;
    OK(HcclCommInitRootInfo(static_cast<uint32_t>(context.size), &context.id, static_cast<uint32_t>(context.rank),
                            &comm));
    return comm;
}

inline float* onDevice(const std::vector<float>& values) {
    void* memory = nullptr;
    size_t bytes = values.size() * sizeof(float);
    OK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return static_cast<float*>(memory);
}

/** A configuration as of a version, with every later field unset too. */
inline HcclCommConfig newConfig(size_t size, uint32_t version) {
    HcclCommConfig config{};
    config.size = size;
    config.magic = HCCL_COMM_CONFIG_MAGIC_WORD;
    config.version = version;
    config.hcclBufferSize = 200;
    config.hcclRdmaTrafficClass = HCCL_NOT_SET;
    config.hcclRdmaServiceLevel = HCCL_NOT_SET;
    config.hcclExecTimeOut = -1;
    config.hcclQos = HCCL_NOT_SET;
    config.hcclSymWinMaxMemSizePerRank = 16;
    config.hcclChannelSqDepth = HCCL_NOT_SET;
    return config;
}
