// Streams and events.
#include "../../engine/runtime/event.h"
#include "guard.h"

using namespace mock;
using namespace mock::cuda;

namespace {

cudaError_t createStream(cudaStream_t* stream, unsigned flags) {
    return guarded([&] {
        if (stream == nullptr || (flags & ~1u) != 0) return Status::InvalidValue;
        Stream* made = device(currentDevice()).createStream((flags & cudaStreamNonBlocking) == 0, flags);
        *stream = reinterpret_cast<cudaStream_t>(made);
        return Status::Ok;
    });
}

template <class Body>
cudaError_t onEvent(cudaEvent_t handle, Body body) {
    return guarded([&] {
        Event* event = findEvent(handle);
        return event == nullptr ? Status::InvalidHandle : body(*event);
    });
}

}  // namespace

MOCK_API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return createStream(stream, 0); }

MOCK_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    return createStream(stream, flags);
}

/** Streams of all priorities are alike here. */
MOCK_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
    return createStream(stream, flags);
}

MOCK_API cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    if (handle == nullptr) return remember(cudaErrorInvalidResourceHandle);
    return onStream(handle, [](Stream& stream) {
        device(stream.device).destroyStream(&stream);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaStreamSynchronize(cudaStream_t handle) { return onStream(handle, synchronizeStream); }
MOCK_API cudaError_t cudaStreamQuery(cudaStream_t handle) { return onStream(handle, queryStream); }

MOCK_API cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
    return onStream(handle, [&](Stream& stream) {
        if (flags == nullptr) return Status::InvalidValue;
        *flags = stream.flags;
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
    return onStream(handle, [&](Stream& stream) {
        if (id == nullptr) return Status::InvalidValue;
        *id = reinterpret_cast<unsigned long long>(&stream);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
    return onStream(handle, [&](Stream& stream) { return launchHostFunction(stream, function, argument); });
}

MOCK_API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t eventHandle, unsigned int flags) {
    return onStream(handle, [&](Stream& stream) {
        Event* event = findEvent(eventHandle);
        if (event == nullptr) return Status::InvalidHandle;
        if (flags == cudaEventWaitExternal) return event->makeWaitOutside(stream);
        return flags > 1 ? Status::InvalidValue : event->makeWait(stream);
    });
}

MOCK_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    return guarded([&] {
        if (event == nullptr || (flags & ~7u) != 0) return Status::InvalidValue;
        *event = reinterpret_cast<cudaEvent_t>(createEvent((flags & cudaEventDisableTiming) == 0));
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

MOCK_API cudaError_t cudaEventRecord(cudaEvent_t eventHandle, cudaStream_t handle) {
    return onStream(handle, [&](Stream& stream) {
        Event* event = findEvent(eventHandle);
        return event == nullptr ? Status::InvalidHandle : event->record(stream);
    });
}

MOCK_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
    return onEvent(handle, [](Event& event) { return event.query(); });
}

MOCK_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    return onEvent(handle, [](Event& event) { return event.synchronize(); });
}

MOCK_API cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    return onEvent(handle, [](Event& event) {
        destroyEvent(&event);
        return Status::Ok;
    });
}

MOCK_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t startHandle, cudaEvent_t endHandle) {
    return onEvent(startHandle, [&](Event& start) {
        Event* end = findEvent(endHandle);
        if (end == nullptr) return Status::InvalidHandle;
        return milliseconds == nullptr ? Status::InvalidValue : Event::elapsed(start, *end, milliseconds);
    });
}
