// Streams, events and the little that is mocked of kernels.
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "../../engine/runtime/event.h"
#include "chip.h"
#include "front.h"

using namespace mock;
using namespace mock::tpu;

namespace {

/** How a caller reads "not yet"; the code has another name for other calls. */
constexpr tpuError_t pending = tpuErrorNoDevice;

/** The code of what failed on the device, which may be seen nowhere but on stderr. */
tpuError_t takeError(const char* call, Stream& stream) {
    int code = stream.error.exchange(0);
    if (code == 0 || !isChosen("MOCK_TPU_KERNEL_FAILURE", "silent")) return static_cast<tpuError_t>(code);
    fail(tpuSuccess, "%s: an operation failed with code %d, which no call returns", call, code);
    return tpuSuccess;
}

/** The events of a stream that have no operation between them and the event before. */
struct BareEvents {
    uint64_t tail = 0;
    std::deque<Position> pending;
};

/**
 * Records an event. With MOCK_TPU_BARE_EVENTS=n, a stream never ends after n pending events without operations. The runtime of November
 * 2024 loses its connection to the daemon after 400.
 */
Status record(Event& event, Stream& stream) {
    static const auto most = static_cast<size_t>(setting("MOCK_TPU_BARE_EVENTS", 0));
    if (most == 0) return event.record(stream);
    static std::mutex mutex;
    static auto* all = new std::map<Stream*, BareEvents>();
    std::lock_guard<std::mutex> lock(mutex);
    BareEvents& events = (*all)[&stream];
    Position tail = stream.tail();
    if (tail.sequence == events.tail) events.pending.push_back(tail);
    while (!events.pending.empty() && events.pending.front().reached()) events.pending.pop_front();
    if (events.pending.size() >= most) {
        fail(tpuErrorFailure, "tpuEventRecord: %zu events are pending: failed write request action to daemon", most);
        stream.push([] {
            for (;;) pause();
        });
    }
    Status status = event.record(stream);
    events.tail = stream.tail().sequence;
    return status;
}

template <class Body>
tpuError_t withEvent(const char* call, tpuEvent_t handle, Body body) {
    return withDevice(call, [&]() -> tpuError_t {
        if (handle == nullptr) return fail(tpuErrorInvalidValue, "%s: null event", call);
        Event* event = findEvent(handle);
        if (event == nullptr) fatal("%s: %p is no live event", call, static_cast<void*>(handle));
        return body(*event);
    });
}

}  // namespace

MOCK_API tpuError_t tpuStreamCreate(tpuStream_t* stream) {
    return withDevice("tpuStreamCreate", [&] {
        if (stream == nullptr) return tpuErrorInvalidParam;
        *stream = reinterpret_cast<tpuStream_t>(device(currentDevice()).createStream(false, 0));
        return tpuSuccess;
    });
}

MOCK_API tpuError_t tpuStreamSynchronize(tpuStream_t handle) {
    if (currentDevice() < 0 && isChosen("MOCK_TPU_NO_DEVICE", "crashes")) {
        fatal("tpuStreamSynchronize: this thread has set no device");
    }
    return withStream("tpuStreamSynchronize", handle, [](Stream& stream) {
        Status status = synchronizeStream(stream);
        tpuError_t error = takeError("tpuStreamSynchronize", stream);
        return error != tpuSuccess ? error : translate(status);
    });
}

MOCK_API tpuError_t tpuEventCreate(tpuEvent_t* event) {
    return withDevice("tpuEventCreate", [&] {
        if (event == nullptr) return tpuErrorInvalidParam;
        *event = reinterpret_cast<tpuEvent_t>(createEvent(true));
        return tpuSuccess;
    });
}

MOCK_API tpuError_t tpuEventDestroy(tpuEvent_t handle, tpuStream_t streamHandle) {
    const char* call = "tpuEventDestroy";
    return withEvent(call, handle, [&](Event& event) {
        if (Stream* home = event.recordedOn()) {
            // The event is unlinked from the stream it was recorded on, which must still be there.
            if (!home->live) fatal("%s: the stream the event was recorded on was destroyed before", call);
            if (home != findStream(streamHandle)) fatal("%s: not the stream the event was recorded on", call);
        } else if (streamHandle != nullptr && findStream(streamHandle) == nullptr) {
            fatal("%s: %p is no live stream", call, static_cast<void*>(streamHandle));
        }
        destroyEvent(&event);
        return tpuSuccess;
    });
}

MOCK_API tpuError_t tpuEventRecord(tpuEvent_t handle, tpuStream_t streamHandle) {
    return withStream("tpuEventRecord", streamHandle, [&](Stream& stream) {
        requireFlushed("tpuEventRecord", stream);
        return withEvent("tpuEventRecord", handle, [&](Event& event) { return translate(record(event, stream)); });
    });
}

MOCK_API tpuError_t tpuEventQuery(tpuEvent_t handle) {
    return withEvent("tpuEventQuery", handle,
                     [](Event& event) { return event.place().reached() ? tpuSuccess : pending; });
}

MOCK_API tpuError_t tpuEventSynchronize(tpuEvent_t handle) {
    return withEvent("tpuEventSynchronize", handle, [](Event& event) {
        event.place().await();
        Stream* home = event.recordedOn();
        return home == nullptr ? tpuSuccess : takeError("tpuEventSynchronize", *home);
    });
}

MOCK_API tpuError_t tpuEventElapsedTime(float* milliseconds, tpuEvent_t startHandle, tpuEvent_t endHandle) {
    return withEvent("tpuEventElapsedTime", startHandle, [&](Event& start) {
        return withEvent("tpuEventElapsedTime", endHandle, [&](Event& end) {
            if (milliseconds == nullptr) return tpuErrorInvalidParam;
            return translate(Event::elapsed(start, end, milliseconds));
        });
    });
}

MOCK_API tpuKernelModule_t tpuKernelModuleLoad(const char* data, size_t bytes, tpuStream_t stream) {
    tpuError_t usable = withStream("tpuKernelModuleLoad", stream, [](Stream&) { return tpuSuccess; });
    if (usable != tpuSuccess || data == nullptr || bytes == 0) return nullptr;
    if (!areKernelsFit(data, bytes)) {
        fail(tpuErrorKernelModuleLoad, "tpuKernelModuleLoad: the kernels are not for the %s", chipName());
        return nullptr;
    }
    return reinterpret_cast<tpuKernelModule_t>(new char);
}

MOCK_API tpuKernelModule_t tpuKernelModuleLoadFromFile(const char* path, tpuStream_t stream) {
    std::ifstream file(path == nullptr ? "" : path, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(file), {});
    return tpuKernelModuleLoad(content.data(), content.size(), stream);
}
