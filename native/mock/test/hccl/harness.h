// What the ACL and HCCL cases share.
#pragma once
#include "../runner.h"

#include <algorithm>

#include "../../front/acl/functions.h"
#include "../../front/hccl/functions.h"

using Context = ContextOf<HcclRootInfo>;
using Case = CaseOf<HcclRootInfo>;

void addRuntimeCases(std::vector<Case>& cases);
void addCollectiveCases(std::vector<Case>& cases);
void addCommunicatorCases(std::vector<Case>& cases);
void addReleaseCases(std::vector<Case>& cases);
void addChipCases(std::vector<Case>& cases);

inline void use(int device) {
    int initialized = aclInit(nullptr);
    CHECK(initialized == ACL_SUCCESS || initialized == ACL_ERROR_REPEAT_INITIALIZE);
    OK(aclrtSetDevice(device));
}

inline aclrtStream newStream() {
    aclrtStream stream = nullptr;
    OK(aclrtCreateStream(&stream));
    return stream;
}

inline aclrtEvent newEvent(uint32_t flags = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    OK(aclrtCreateEventExWithFlag(&event, flags));
    return event;
}

inline HcclComm join(const Context& context) {
    use(context.rank);
    HcclComm comm = nullptr;
    OK(HcclCommInitRootInfo(static_cast<uint32_t>(context.size), &context.id, static_cast<uint32_t>(context.rank),
                            &comm));
    return comm;
}

template <class T>
T* onDevice(size_t count) {
    void* memory = nullptr;
    OK(aclrtMalloc(&memory, count * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST));
    return static_cast<T*>(memory);
}

template <class T>
T* onDevice(const std::vector<T>& values) {
    T* memory = onDevice<T>(values.size());
    size_t bytes = values.size() * sizeof(T);
    OK(aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return memory;
}

template <class T>
std::vector<T> read(const T* memory, size_t count) {
    std::vector<T> values(count);
    size_t bytes = count * sizeof(T);
    OK(aclrtMemcpy(values.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
}

/** Waits for the stream, then reads. */
template <class T>
std::vector<T> fetch(const T* memory, size_t count, aclrtStream stream) {
    OK(aclrtSynchronizeStream(stream));
    return read(memory, count);
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
