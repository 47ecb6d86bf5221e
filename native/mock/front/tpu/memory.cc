// Device memory and copies. A synchronous copy has no order with any stream; an asynchronous one reads and writes host
// memory when the stream comes to it.
#include "../../engine/runtime/copy.h"
#include "address.h"
#include "front.h"

using namespace mock;
using namespace mock::tpu;

namespace {

void checkRaw(const char* call, const void* address) {
    if (isTranslated(reinterpret_cast<uintptr_t>(address))) {
        fatal("%s: %p is a translated address; only SCCL and tpuDNN take those", call, address);
    }
}

/** Which of the two has to be memory of the thread's device. */
tpuError_t check(const char* call, const void* to, const void* from, bool toDevice, bool fromDevice) {
    checkRaw(call, to);
    checkRaw(call, from);
    const void* onDevice[] = {toDevice ? to : nullptr, fromDevice ? from : nullptr};
    for (const void* address : onDevice) {
        Device* owner = address == nullptr ? nullptr : deviceOf(address);
        if (owner != nullptr && owner->index != currentDevice()) {
            return fail(tpuErrorInvalidValue, "%s: memory of device %d, the thread is on %d", call, owner->index,
                        currentDevice());
        }
    }
    return tpuSuccess;
}

tpuError_t report(const char* call, Status status) {
    return status == Status::Ok ? tpuSuccess : fail(translate(status), "%s: not memory of this kind or size", call);
}

/** Whether a bad address is no error but never comes to an end, as in the runtime of November 2024. */
bool isStuckBy(Status status) { return status == Status::InvalidValue && isChosen("MOCK_TPU_BAD_ADDRESS", "hangs"); }

[[noreturn]] void neverEnd() {
    for (;;) pause();
}

tpuError_t copyAtOnce(const char* call, void* to, const void* from, size_t bytes, Direction direction) {
    return withDevice(call, [&] {
        tpuError_t checked =
            check(call, to, from, direction != Direction::DeviceToHost, direction != Direction::HostToDevice);
        if (checked != tpuSuccess) return checked;
        Status status = copyNow(to, from, bytes, direction);
        if (isStuckBy(status)) neverEnd();
        return report(call, status);
    });
}

tpuError_t copyLater(const char* call, void* to, const void* from, size_t bytes, Direction direction,
                     tpuStream_t handle) {
    return withStream(call, handle, [&](Stream& stream) {
        requireFlushed(call, stream);
        tpuError_t checked =
            check(call, to, from, direction != Direction::DeviceToHost, direction != Direction::HostToDevice);
        if (checked != tpuSuccess) return checked;
        Status status = copyInOrder(to, from, bytes, direction, stream, nullptr);
        return report(call, isStuckBy(status) ? submit(stream, neverEnd) : status);
    });
}

}  // namespace

MOCK_API tpuError_t tpuMalloc(void** address, size_t bytes) {
    return withDevice("tpuMalloc", [&] {
        if (address == nullptr || bytes == 0) return fail(tpuErrorInvalidParam, "tpuMalloc: no place or no size");
        Status status = allocate(address, bytes);
        if (status != Status::OutOfMemory || isChosen("MOCK_TPU_NO_MEMORY", "code")) return report("tpuMalloc", status);
        // As the runtime of November 2024, whose daemon prints only this.
        std::fprintf(stderr, "mock (pid %d): tpuMalloc: malloc mem failed\n", static_cast<int>(getpid()));
        *address = nullptr;
        return tpuSuccess;
    });
}

MOCK_API tpuError_t tpuFree(void* address) {
    return withDevice("tpuFree", [&] {
        tpuError_t checked = check("tpuFree", address, nullptr, true, false);
        // At once: whatever still runs on this memory now meets freed memory.
        return checked != tpuSuccess ? checked : report("tpuFree", releaseNow(address));
    });
}

MOCK_API tpuError_t tpuMemcpyH2D(void* to, const void* from, size_t bytes) {
    return copyAtOnce("tpuMemcpyH2D", to, from, bytes, Direction::HostToDevice);
}

MOCK_API tpuError_t tpuMemcpyD2H(void* to, const void* from, size_t bytes) {
    return copyAtOnce("tpuMemcpyD2H", to, from, bytes, Direction::DeviceToHost);
}

MOCK_API tpuError_t tpuMemcpyD2D(void* to, const void* from, size_t bytes) {
    return copyAtOnce("tpuMemcpyD2D", to, from, bytes, Direction::DeviceToDevice);
}

MOCK_API tpuError_t tpuMemcpyH2DAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return copyLater("tpuMemcpyH2DAsync", to, from, bytes, Direction::HostToDevice, stream);
}

MOCK_API tpuError_t tpuMemcpyD2HAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return copyLater("tpuMemcpyD2HAsync", to, from, bytes, Direction::DeviceToHost, stream);
}

MOCK_API tpuError_t tpuMemcpyD2DAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return copyLater("tpuMemcpyD2DAsync", to, from, bytes, Direction::DeviceToDevice, stream);
}
