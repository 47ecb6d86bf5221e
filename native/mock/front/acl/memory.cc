// Device and page-locked memory, copies and fills.
#include "../../engine/runtime/copy.h"
#include "../../engine/runtime/hostmemory.h"
#include "front.h"

using namespace mock;
using namespace mock::acl;

namespace {

bool isPolicy(int policy) {
    constexpr int flags =
        ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
    return policy >= 0 && (policy & ~flags) <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

aclError allocateFor(const char* call, void** address, size_t bytes, aclrtMemMallocPolicy policy) {
    return withDevice(call, [&]() -> aclError {
        if (address == nullptr || bytes == 0 || !isPolicy(policy)) {
            return fail(ACL_ERROR_INVALID_PARAM, "%s: no place for the address, no size or no policy", call);
        }
        Status status = allocate(address, bytes);
        return translate(status, call);
    });
}

aclError checkCopy(const char* call, size_t destMax, size_t count, aclrtMemcpyKind kind) {
    if (count > destMax)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: destMax %zu is less than count %zu", call, destMax, count);
    if (kind < 0 || kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE)
        return fail(ACL_ERROR_INVALID_PARAM, "%s: no kind %d", call, kind);
    if (kind > ACL_MEMCPY_DEFAULT) return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: kind %d is not mocked", call, kind);
    return ACL_SUCCESS;
}

Direction direction(aclrtMemcpyKind kind) { return static_cast<Direction>(static_cast<int>(kind)); }

bool isPageable(const void* address, size_t bytes) { return deviceOf(address) == nullptr && !isPinned(address, bytes); }

}  // namespace

MOCK_API aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy policy) {
    return allocateFor("aclrtMalloc", address, bytes, policy);
}

MOCK_API aclError aclrtMallocAlign32(void** address, size_t bytes, aclrtMemMallocPolicy policy) {
    return allocateFor("aclrtMallocAlign32", address, bytes, policy);
}

MOCK_API aclError aclrtFree(void* address) {
    return withDevice("aclrtFree", [&]() -> aclError {
        if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtFree: null address");
        // At once: whatever still runs on this memory now meets freed memory.
        return translate(releaseNow(address), "aclrtFree");
    });
}

MOCK_API aclError aclrtMallocHost(void** address, size_t bytes) {
    return withDevice("aclrtMallocHost", [&]() -> aclError {
        if (address == nullptr || bytes == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: invalid argument");
        *address = allocateHost(bytes, HostKind::Pinned);
        return translate(*address == nullptr ? Status::OutOfMemory : Status::Ok, "aclrtMallocHost");
    });
}

MOCK_API aclError aclrtFreeHost(void* address) {
    return withDevice("aclrtFreeHost", [&]() -> aclError {
        if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost: null address");
        return translate(freeHost(address, HostKind::Pinned), "aclrtFreeHost");
    });
}

MOCK_API aclError aclrtMemcpy(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind) {
    return withDevice("aclrtMemcpy", [&]() -> aclError {
        aclError checked = checkCopy("aclrtMemcpy", destMax, count, kind);
        if (checked != ACL_SUCCESS) return checked;
        return translate(copyNow(to, from, count, direction(kind)), "aclrtMemcpy");
    });
}

MOCK_API aclError aclrtMemcpyAsync(void* to, size_t destMax, const void* from, size_t count, aclrtMemcpyKind kind,
                                   aclrtStream handle) {
    return withStream("aclrtMemcpyAsync", handle, [&](Stream& stream) -> aclError {
        aclError checked = checkCopy("aclrtMemcpyAsync", destMax, count, kind);
        if (checked != ACL_SUCCESS) return checked;
        Position position;
        Status status = copyInOrder(to, from, count, direction(kind), stream, &position);
        if (status == Status::Ok && (isPageable(to, count) || isPageable(from, count))) position.await();
        return translate(status, "aclrtMemcpyAsync");
    });
}

MOCK_API aclError aclrtMemset(void* to, size_t maxCount, int32_t value, size_t count) {
    return withDevice("aclrtMemset", [&]() -> aclError {
        if (count > maxCount) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemset: maxCount is less than count");
        return translate(fillNow(to, value, count), "aclrtMemset");
    });
}

MOCK_API aclError aclrtMemsetAsync(void* to, size_t maxCount, int32_t value, size_t count, aclrtStream handle) {
    return withStream("aclrtMemsetAsync", handle, [&](Stream& stream) -> aclError {
        if (count > maxCount) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemsetAsync: maxCount is less than count");
        return translate(fill(to, value, count, stream, false), "aclrtMemsetAsync");
    });
}

MOCK_API aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t* available, size_t* total) {
    return withDevice("aclrtGetMemInfo", [&]() -> aclError {
        if (available == nullptr || total == nullptr)
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: null argument");
        bool isHbm = attribute == ACL_HBM_MEM || attribute == ACL_HBM_MEM_HUGE || attribute == ACL_HBM_MEM_NORMAL;
        *available = isHbm ? device(currentDevice()).memory.available() : 0;
        *total = isHbm ? device(currentDevice()).memory.capacity() : 0;
        return ACL_SUCCESS;
    });
}
