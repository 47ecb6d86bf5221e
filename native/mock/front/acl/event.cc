// Events, of which there are three kinds with rules of their own.
#include "../../engine/runtime/event.h"
#include "front.h"

using namespace mock;
using namespace mock::acl;

namespace {

enum Kind : unsigned { Plain, Flagged, Extended };

/** 0x4 is no documented flag, but real callers set it on events of the flagged kind. */
constexpr uint32_t eventFlags = 0x7f;

std::atomic<uint32_t> waitLimit{0};

aclError makeEvent(const char* call, aclrtEvent* handle, Kind kind, uint32_t flags) {
    return withDevice(call, [&]() -> aclError {
        if (handle == nullptr || (kind != Plain && flags == 0) || (flags & ~eventFlags) != 0) {
            return fail(ACL_ERROR_INVALID_PARAM, "%s: null argument or wrong flags 0x%x", call, flags);
        }
        Event* made = createEvent(kind == Plain || (flags & ACL_EVENT_TIME_LINE) != 0);
        made->notes.kind = kind;
        made->notes.flags = flags;
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

/** Plain events can be waited for; others only when they were created for it. */
bool synchronizes(const Event& event) { return event.notes.kind == Plain || (event.notes.flags & ACL_EVENT_SYNC) != 0; }

aclError refuseExtended(const char* call, const Event& event) {
    if (event.notes.kind != Extended) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: not for events of aclrtCreateEventExWithFlag", call);
}

aclError wait(const char* call, aclrtStream streamHandle, aclrtEvent handle, uint32_t seconds) {
    return withStream(call, streamHandle, [&](Stream& stream) -> aclError {
        return withEvent(call, handle, [&](Event& event) -> aclError {
            if (!synchronizes(event)) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the event was created without ACL_EVENT_SYNC", call);
            }
            if (event.device != stream.device) fatal("%s: event and stream are on different devices", call);
            if (!event.isRecorded()) {
                if (event.notes.kind == Extended) return ACL_SUCCESS;
                fatal("%s: the event was never recorded; such a wait may never end", call);
            }
            event.notes.waiter = event.notes.waits++ == 0 || event.notes.waiter == &stream ? &stream : nullptr;
            if (seconds == 0) return translate(event.makeWait(stream), call);
            Position place = event.place();
            return translate(submit(stream,
                                    [place, seconds, &stream] {
                                        if (place.await(std::chrono::seconds(seconds))) return;
                                        int none = 0;
                                        stream.error.compare_exchange_strong(none, ACL_ERROR_RT_WAIT_TIMEOUT);
                                    }),
                             call);
        });
    });
}

aclError synchronize(const char* call, aclrtEvent handle, int32_t milliseconds) {
    return withEvent(call, handle, [&](Event& event) -> aclError {
        if (milliseconds < -1) return fail(ACL_ERROR_INVALID_PARAM, "%s: timeout below -1", call);
        if (!event.await(std::chrono::milliseconds(milliseconds))) {
            return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: not over after %d ms", call, milliseconds);
        }
        Stream* stream = event.recordedOn();
        return stream == nullptr ? ACL_SUCCESS : takeError(*stream, call);
    });
}

}  // namespace

MOCK_API aclError aclrtSetOpWaitTimeout(uint32_t seconds) {
    return withDevice("aclrtSetOpWaitTimeout", [&]() -> aclError {
        waitLimit = seconds;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtCreateEvent(aclrtEvent* event) { return makeEvent("aclrtCreateEvent", event, Plain, 0); }

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
            if (event.notes.kind != Extended && event.isRecorded()) {
                fatal("aclrtRecordEvent: an event of this kind is recorded once%s",
                      event.notes.kind == Flagged ? ", or reset in between" : "");
            }
            event.notes.recorder = std::this_thread::get_id();
            return translate(event.record(stream), "aclrtRecordEvent");
        });
    });
}

MOCK_API aclError aclrtResetEvent(aclrtEvent handle, aclrtStream streamHandle) {
    return withStream("aclrtResetEvent", streamHandle, [&](Stream& stream) -> aclError {
        return withEvent("aclrtResetEvent", handle, [&](Event& event) -> aclError {
            aclError refused = refuseExtended("aclrtResetEvent", event);
            if (refused != ACL_SUCCESS) return refused;
            if (event.notes.kind == Plain) fatal("aclrtResetEvent: undefined for events of aclrtCreateEvent");
            if (!synchronizes(event)) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtResetEvent: no ACL_EVENT_SYNC");
            if (event.notes.waiter != &stream) {
                fatal("aclrtResetEvent: not on the one stream that waits for the event, after its wait");
            }
            event.notes.waiter = nullptr;
            event.notes.waits = 0;
            event.forget();
            return ACL_SUCCESS;
        });
    });
}

MOCK_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return wait("aclrtStreamWaitEvent", stream, event, waitLimit);
}

MOCK_API aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t seconds) {
    if (seconds < 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamWaitEventWithTimeout: negative timeout");
    return wait("aclrtStreamWaitEventWithTimeout", stream, event, static_cast<uint32_t>(seconds));
}

MOCK_API aclError aclrtQueryEvent(aclrtEvent handle, aclrtEventStatus* status) {
    return withEvent("aclrtQueryEvent", handle, [&](Event& event) -> aclError {
        aclError refused = refuseExtended("aclrtQueryEvent", event);
        if (refused != ACL_SUCCESS) return refused;
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEvent: null argument");
        if (!event.isRecorded() || (event.notes.kind == Plain && event.notes.recorder != std::this_thread::get_id())) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEvent: this thread has not recorded the event");
        }
        *status = event.place().reached() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
    return withEvent("aclrtQueryEventStatus", handle, [&](Event& event) -> aclError {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: null argument");
        if (!event.isRecorded() && event.notes.kind != Extended) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventStatus: the event was never recorded");
        }
        *status = event.place().reached() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
    return withEvent("aclrtQueryEventWaitStatus", handle, [&](Event& event) -> aclError {
        aclError refused = refuseExtended("aclrtQueryEventWaitStatus", event);
        if (refused != ACL_SUCCESS) return refused;
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventWaitStatus: null argument");
        bool over = event.isRecorded() && event.place().reached();
        *status = over ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtSynchronizeEvent(aclrtEvent event) { return synchronize("aclrtSynchronizeEvent", event, -1); }

MOCK_API aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t milliseconds) {
    return synchronize("aclrtSynchronizeEventWithTimeout", event, milliseconds);
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

MOCK_API aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t* microseconds) {
    return withEvent("aclrtEventGetTimestamp", handle, [&](Event& event) -> aclError {
        if (microseconds == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventGetTimestamp: null argument");
        if (!event.timing || !event.isRecorded()) {
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventGetTimestamp: no time was taken");
        }
        if (!event.place().reached()) return translate(Status::NotReady, "aclrtEventGetTimestamp");
        *microseconds = static_cast<uint64_t>(event.microseconds());
        return ACL_SUCCESS;
    });
}
