// What the parts of the TPU runtime front share.
#pragma once
#include "../../engine/runtime/runtime.h"
#include "functions.h"

namespace mock::tpu {

tpuError_t translate(Status status);

/** Prints why a call fails: the vendor has no texts for its errors. */
[[gnu::format(printf, 2, 3)]] tpuError_t fail(tpuError_t code, const char* format, ...);

/** Whether a variable of the environment has this value. */
bool isChosen(const char* name, const char* value);

/** Success when tpuInit was called and this thread has set a device. */
tpuError_t ready(const char* call);

template <class Body>
tpuError_t withDevice(const char* call, Body body) {
    tpuError_t state = ready(call);
    return state != tpuSuccess ? state : body();
}

/** Ends the process when another thread is between an operation and its flush: nothing says that this works. */
void requireFlushed(const char* call, const Stream& stream);

template <class Body>
tpuError_t withStream(const char* call, tpuStream_t handle, Body body) {
    return withDevice(call, [&]() -> tpuError_t {
        if (handle == nullptr) return fail(tpuErrorInvalidValue, "%s: null stream", call);
        Stream* stream = findStream(handle);
        if (stream == nullptr) fatal("%s: %p is no live stream", call, static_cast<void*>(handle));
        if (stream->device == currentDevice()) return body(*stream);
        return fail(tpuErrorInvalidValue, "%s: the stream is on device %d, the thread on %d", call, stream->device,
                    currentDevice());
    });
}

}  // namespace mock::tpu
