// Handles, addresses and copies.
#include <cstdarg>
#include <dlfcn.h>

#include "../../engine/runtime/handles.h"
#include "../tpu/address.h"
#include "front.h"

namespace mock {

const Vendor& vendor() {
    static const Vendor one{"MOCK_SCCL", 1, false, 0, TPUDNN_STATUS_FAILED, TPUDNN_STATUS_FAILED, 0};
    return one;
}

// libtpudnn is loaded before libtpurt and does not name it as a dependency, so it looks for it when it is needed.
RuntimeLink& vendorRuntime() {
    static RuntimeLink& link = *[] {
        void* library = dlopen("libtpurt.so", RTLD_NOW | RTLD_NOLOAD);
        void* found = library == nullptr ? nullptr : dlsym(library, "mockTpuRuntime");
        if (found == nullptr) fatal("tpuDNN: libtpurt is not loaded");
        return reinterpret_cast<RuntimeLink* (*)()>(found)();
    }();
    return link;
}

namespace tpudnn {

namespace {

Handles<Handle>& handles() {
    static auto* all = new Handles<Handle>(size_t(1) << 12, true);
    return *all;
}

tpudnnHandle_t make(int device, Stream* stream, bool ownsStream) {
    Handle* made = handles().create();
    made->device = device;
    made->stream = stream;
    made->ownsStream = ownsStream;
    return reinterpret_cast<tpudnnHandle_t>(made);
}

uintptr_t ownThread() { return static_cast<uintptr_t>(pthread_self()); }

/** What waits in the handle has to be this thread's. */
void requireOwn(const Handle& handle) {
    uintptr_t thread = handle.stream->collecting;
    if (thread == 0 || thread == ownThread()) return;
    fatal("tpuDNN: another thread has called SCCL with this handle and not flushed it yet");
}

bool flush(Handle& handle) {
    std::lock_guard<std::mutex> lock(handle.mutex);
    requireOwn(handle);
    bool fine = true;
    for (Handle::Waiting& waiting : handle.waiting) {
        fine =
            vendorRuntime().submit(*handle.stream, std::move(waiting.task), std::move(waiting.order)) == Status::Ok &&
            fine;
    }
    handle.waiting.clear();
    handle.stream->collecting = 0;
    return fine;
}

}  // namespace

Handle& find(const char* call, tpudnnHandle_t handle) {
    Handle* found = handles().find(handle);
    if (found == nullptr) fatal("%s: %p is no live handle", call, static_cast<void*>(handle));
    return *found;
}

tpudnnStatus_t fail(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "mock (pid %d): %s\n", static_cast<int>(getpid()), text);
    return TPUDNN_STATUS_FAILED;
}

tpudnnStatus_t ready(const char* call, const Handle& handle) {
    int device = vendorRuntime().currentDevice();
    if (device < 0) return fail("%s: this thread has set no device", call);
    if (device == handle.device) return TPUDNN_STATUS_SUCCESS;
    return fail("%s: the thread is on device %d, the handle on %d", call, device, handle.device);
}

void submit(Handle& handle, Task task, std::shared_ptr<Order> order) {
    {
        std::lock_guard<std::mutex> lock(handle.mutex);
        requireOwn(handle);
        handle.stream->collecting = ownThread();
        handle.waiting.push_back({std::move(task), std::move(order)});
    }
    static const long pause = setting("MOCK_SCCL_CALL_US", 0);
    if (pause > 0) usleep(static_cast<useconds_t>(pause));
}

void* rawOf(const char* call, const Handle& handle, const void* address) {
    auto bits = reinterpret_cast<uintptr_t>(address);
    if (!tpu::isTranslated(bits)) fatal("%s: %p is not translated; use scclPhysToVirt", call, address);
    if (tpu::deviceOfTranslated(bits) != handle.device) {
        fatal("%s: %p was translated by a handle of device %d, the call's is on %d", call, address,
              tpu::deviceOfTranslated(bits), handle.device);
    }
    return reinterpret_cast<void*>(tpu::rawOf(bits));
}

}  // namespace tpudnn
}  // namespace mock

using namespace mock;
using namespace mock::tpudnn;

MOCK_API tpudnnHandle_t tpudnnHandleFromStream(int deviceID, void* stream, void* module) {
    Stream* found = stream == nullptr ? nullptr : vendorRuntime().findStream(stream);
    if (found == nullptr || found->device != deviceID || vendorRuntime().currentDevice() != deviceID) {
        fail("tpudnnHandleFromStream: no live stream of device %d, or the thread is on another", deviceID);
        return nullptr;
    }
    if (module == nullptr) {
        fail("tpudnnHandleFromStream: no kernel module");
        return nullptr;
    }
    return make(deviceID, found, false);
}

MOCK_API tpudnnStatus_t tpudnnFlush(tpudnnHandle_t handle) {
    Handle& found = find("tpudnnFlush", handle);
    tpudnnStatus_t usable = ready("tpudnnFlush", found);
    if (usable != TPUDNN_STATUS_SUCCESS) return usable;
    return flush(found) ? TPUDNN_STATUS_SUCCESS : fail("tpudnnFlush: the runtime refused an operation");
}

MOCK_API tpudnnStatus_t tpudnnSync(tpudnnHandle_t handle) {
    tpudnnStatus_t flushed = tpudnnFlush(handle);
    if (flushed != TPUDNN_STATUS_SUCCESS) return flushed;
    vendorRuntime().await(*find("tpudnnSync", handle).stream);
    return TPUDNN_STATUS_SUCCESS;
}

MOCK_API tpudnnHandle_t tpudnnCreate(int device) {
    if (vendorRuntime().currentDevice() == device) return make(device, vendorRuntime().createStream(), true);
    fail("tpudnnCreate: the thread is on device %d, asked for %d", vendorRuntime().currentDevice(), device);
    return nullptr;
}

MOCK_API void tpudnnDestroy(tpudnnHandle_t handle) {
    Handle& found = find("tpudnnDestroy", handle);
    {
        std::lock_guard<std::mutex> lock(found.mutex);
        if (!found.waiting.empty()) fatal("tpudnnDestroy: %zu operations were never flushed", found.waiting.size());
    }
    if (found.ownsStream && !vendorRuntime().isIdle(*found.stream))
        fatal("tpudnnDestroy: operations still run; use tpudnnSync");
    // The stream behind a handle goes with the process: nobody else has it, and nothing runs on it.
    handles().destroy(&found);
}

MOCK_API void* tpudnnPhysToVirt(tpudnnHandle_t handle, uint64_t address) {
    Handle& found = find("tpudnnPhysToVirt", handle);
    auto* raw = reinterpret_cast<void*>(address);
    if (tpu::isTranslated(address)) fatal("tpudnnPhysToVirt: %p is translated already", raw);
    if (vendorRuntime().deviceOf(raw) != found.device) {
        fatal("tpudnnPhysToVirt: %p is no memory of device %d", raw, found.device);
    }
    return reinterpret_cast<void*>(tpu::translated(address, found.device));
}
