// Events, of which there are two kinds with rules of their own.
#include "../../engine/runtime/event.h"
#include "front.h"

using namespace mock;
using namespace mock::acl;

namespace {

enum Kind : unsigned { Flagged, Extended };

/** 0x4 is no documented flag, but real callers set it on events of the flagged kind. */
constexpr uint32_t eventFlags = 0x7f;

aclError makeEvent(const char* call, aclrtEvent* handle, Kind kind, uint32_t flags) {
    return withDevice(call, [&]() -> aclError {
        if (handle == nullptr || flags == 0 || (flags & ~eventFlags) != 0) {
            return fail(ACL_ERROR_INVALID_PARAM, "%s: null argument or wrong flags 0x%x", call, flags);
        }
        Event* made = createEvent((flags & ACL_EVENT_TIME_LINE) != 0);
        made->kind = kind;
        made->flags = flags;
        *handle = reinterpret_cast<aclrtEvent>(made);
        return ACL_SUCCESS;
    });
}

template <class Body>
aclError withEvent(const char* call, aclrtEvent handle, Body body) {
    return withDevice(call, [&]() -> aclError {
        Event* event = findEvent(handle);
        if (event == nullptr)
            return fail(ACL_ERROR_INVALID_PARAM, "%s: %p is no live event", call, static_cast<void*>(handle));
        return body(*event);
    });
}

}  // namespace

MOCK_API aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return makeEvent("aclrtCreateEventWithFlag", event, Flagged, flag);
}

MOCK_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return makeEvent("aclrtCreateEventExWithFlag", event, Extended, flag);
}

MOCK_API aclError aclrtDestroyEvent(aclrtEvent handle) {
    return withEvent("aclrtDestroyEvent", handle, [](Event& event) -> aclError {
        destroyEvent(&event);
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream streamHandle) {
    return withStream("aclrtRecordEvent", streamHandle, [&](Stream& stream) -> aclError {
        return withEvent("aclrtRecordEvent", handle, [&](Event& event) -> aclError {
            if (event.kind != Extended && event.isRecorded()) {
                fatal("aclrtRecordEvent: an event of this kind is recorded once");
            }
            return translate(event.record(stream), "aclrtRecordEvent");
        });
    });
}

MOCK_API aclError aclrtStreamWaitEvent(aclrtStream streamHandle, aclrtEvent handle) {
    const char* call = "aclrtStreamWaitEvent";
    return withStream(call, streamHandle, [&](Stream& stream) -> aclError {
        return withEvent(call, handle, [&](Event& event) -> aclError {
            if ((event.flags & ACL_EVENT_SYNC) == 0) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the event was created without ACL_EVENT_SYNC", call);
            }
            if (event.device != stream.device) fatal("%s: event and stream are on different devices", call);
            if (event.isRecorded()) return translate(event.makeWait(stream), call);
            if (event.kind == Extended) return ACL_SUCCESS;
            fatal("%s: the event was never recorded; such a wait may never end", call);
        });
    });
}

MOCK_API aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
    return withEvent("aclrtQueryEventStatus", handle, [&](Event& event) -> aclError {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: null argument");
        if (!event.isRecorded() && event.kind != Extended) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventStatus: the event was never recorded");
        }
        int code = 0;
        *status = hasPassed(event.place(), &code) ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                                  : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        return code == 0 ? ACL_SUCCESS : fail(code, "aclrtQueryEventStatus: a task before the event failed");
    });
}

MOCK_API aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
    return withEvent("aclrtQueryEventWaitStatus", handle, [&](Event& event) -> aclError {
        if (event.kind == Extended) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                        "aclrtQueryEventWaitStatus: not for events of aclrtCreateEventExWithFlag");
        }
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventWaitStatus: null argument");
        int code = 0;
        bool over = event.isRecorded() && hasPassed(event.place(), &code);
        if (code != 0) return fail(code, "aclrtQueryEventWaitStatus: a task before the event failed");
        *status = over ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

// Of the stream that an event is on, unless events are to know nothing of it.
static aclError takeErrorOf(Event& event, const char* call) {
    Stream* stream = event.recordedOn();
    return stream == nullptr || failedEventsAreComplete() ? ACL_SUCCESS : takeError(*stream, call);
}

MOCK_API aclError aclrtSynchronizeEvent(aclrtEvent handle) {
    return withEvent("aclrtSynchronizeEvent", handle, [](Event& event) {
        event.place().await();
        return takeErrorOf(event, "aclrtSynchronizeEvent");
    });
}

MOCK_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent handle, int32_t milliseconds) {
    const char* call = "aclrtSynchronizeEventWithTimeout";
    return withEvent(call, handle, [&](Event& event) -> aclError {
        if (milliseconds < 1) return fail(ACL_ERROR_INVALID_PARAM, "%s: no such time is mocked", call);
        if (!event.place().await(milliseconds)) return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: not done", call);
        return takeErrorOf(event, call);
    });
}

MOCK_API aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent startHandle, aclrtEvent endHandle) {
    return withEvent("aclrtEventElapsedTime", startHandle, [&](Event& start) -> aclError {
        return withEvent("aclrtEventElapsedTime", endHandle, [&](Event& end) -> aclError {
            if (milliseconds == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: null argument");
            if (!start.timing || !end.timing || !start.isRecorded() || !end.isRecorded()) {
                return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                            "aclrtEventElapsedTime: not recorded, or created without ACL_EVENT_TIME_LINE");
            }
            Status status = Event::elapsed(start, end, milliseconds);
            if (status == Status::Ok && *milliseconds < 0) {
                return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                            "aclrtEventElapsedTime: the end is before the start");
            }
            return translate(status, "aclrtEventElapsedTime");
        });
    });
}
