// Device memory and copies.
#include "../../engine/runtime/copy.h"
#include "front.h"

using namespace mock;
using namespace mock::acl;

namespace {

bool isPolicy(int policy) {
    constexpr int flags =
        ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
    return policy >= 0 && (policy & ~flags) <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
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

}  // namespace

MOCK_API aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy policy) {
    return withDevice("aclrtMalloc", [&]() -> aclError {
        if (address == nullptr || bytes == 0 || !isPolicy(policy)) {
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: no place for the address, no size or no policy");
        }
        return translate(allocate(address, bytes), "aclrtMalloc");
    });
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
        if (address == nullptr || bytes == 0) {
            return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: no place for the address, or no size");
        }
        return translate(allocateHost(address, bytes), "aclrtMallocHost");
    });
}

MOCK_API aclError aclrtFreeHost(void* address) {
    return withDevice("aclrtFreeHost", [&]() -> aclError {
        if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtFreeHost: null address");
        return translate(releaseHost(address), "aclrtFreeHost");
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
        bool pageable = (deviceOf(to) == nullptr && !isPageLocked(to, count)) ||
                        (deviceOf(from) == nullptr && !isPageLocked(from, count));
        if (status == Status::Ok && pageable) position.await();
        return translate(status, "aclrtMemcpyAsync");
    });
}
