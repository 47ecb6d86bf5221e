#include "runtime.h"

#include <utility>

#include "../fault.h"
#include "traits.h"

namespace mock {

namespace {

FaultPoint& injected() {
    static auto* point = new FaultPoint("MOCK_RUNTIME_FAIL_AT", traits.faultCode);
    return *point;
}

FaultPoint& failingTask() {
    static auto* point = new FaultPoint("MOCK_RUNTIME_TASK_FAIL_AT", traits.faultCode);
    return *point;
}

/** Instead of an operation that fails when the device comes to it. */
Task failure(Stream& stream) {
    int code = failingTask().code();
    return [&stream, code] {
        stream.error = code;
        if (traits.failsForGood) device(stream.device).broken = code;
    };
}

thread_local std::string explanation;

bool isCaptured(const Stream& stream) { return stream.capture.load() != nullptr; }

/** The implicit order of the legacy stream cannot be captured: using it breaks the captures of blocking streams. */
Status checkLegacy(const Stream& stream) {
    if (!stream.legacy || !capturesBlocking(stream.device)) return Status::Ok;
    unsafeCall();
    return Status::CaptureImplicit;
}

}  // namespace

Position issueOrdered(Stream& stream, Task task, Order* order) {
    static const bool oneCollective = setting("MOCK_ONE_COLLECTIVE", 0) == 1;
    Device& home = device(stream.device);
    if (order == nullptr) return home.issue(stream, std::move(task));
    std::lock_guard<std::mutex> lock(order->mutex);
    stream.pushWait(order->last);
    if (!oneCollective) return order->last = home.issue(stream, std::move(task));
    std::lock_guard<std::mutex> turns(stream.turns);
    auto turn = std::make_shared<Turns::Turn>(home.turns);
    return order->last = home.issue(stream, [turn, task = std::move(task)] {
        turn->await();
        task();
    });
}

Status submit(Stream& stream, Task task, std::shared_ptr<Order> order, Position* position) {
    if (device(stream.device).broken != 0) return Status::Broken;
    if (injected().hit() != 0) return Status::Injected;
    if (failingTask().hit() != 0) task = failure(stream);
    if (isCaptured(stream)) {
        std::lock_guard<std::mutex> lock(captureLock());
        if (Capture* capture = stream.capture) {
            if (!capture->valid) return Status::CaptureInvalidated;
            capture->add(stream, std::move(task), std::move(order));
            return Status::Ok;
        }
    }
    Status legacy = checkLegacy(stream);
    if (legacy != Status::Ok) return legacy;
    Position issued = issueOrdered(stream, std::move(task), order.get());
    if (position != nullptr) *position = issued;
    return Status::Ok;
}

Status joinStreams(Stream& waiter, Stream& other) {
    if (&waiter == &other) return Status::Ok;
    if (waiter.capture.load() == nullptr && other.capture.load() == nullptr) {
        waiter.pushWait(other.tail());
        return Status::Ok;
    }
    std::lock_guard<std::mutex> lock(captureLock());
    Capture* capture = other.capture;
    if (capture == nullptr) return Status::CaptureIsolation;
    if (waiter.capture != nullptr && waiter.capture != capture) return Status::CaptureMerge;
    capture->wait(waiter, capture->mark(other));
    return Status::Ok;
}

void explain(const std::string& text) { explanation = text; }
std::string takeExplanation() { return std::exchange(explanation, std::string()); }

int injectedCode() { return injected().code(); }

int capability() {
    static const int value = static_cast<int>(setting("MOCK_COMPUTE_CAPABILITY", 90));
    return value;
}

Status synchronizeStream(Stream& stream) {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    if (isCaptured(stream)) {
        std::lock_guard<std::mutex> lock(captureLock());
        if (Capture* capture = stream.capture) capture->valid = false;
        return Status::CaptureUnsupported;
    }
    Status legacy = checkLegacy(stream);
    if (legacy != Status::Ok) return legacy;
    // The legacy stream's order includes the blocking streams.
    device(stream.device).order(stream);
    stream.tail().await();
    return Status::Ok;
}

Status queryStream(Stream& stream) {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    if (isCaptured(stream)) {
        std::lock_guard<std::mutex> lock(captureLock());
        if (Capture* capture = stream.capture) capture->valid = false;
        return Status::CaptureUnsupported;
    }
    if (!stream.tail().reached()) return Status::NotReady;
    if (stream.legacy) {
        for (const Position& position : device(stream.device).tails()) {
            if (!position.reached() && position.stream->blocking) return Status::NotReady;
        }
    }
    return Status::Ok;
}

Status synchronizeDevice() {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    for (const Position& position : device(currentDevice()).tails()) position.await();
    return Status::Ok;
}

Status launchHostFunction(Stream& stream, void (*function)(void*), void* argument) {
    if (function == nullptr) return Status::InvalidValue;
    return submit(stream, [function, argument] {
        inHostFunction = true;
        function(argument);
        inHostFunction = false;
    });
}

Status launchGraph(Executable& executable, Stream& stream) {
    if (isCaptured(stream)) return Status::CaptureUnsupported;
    Status legacy = checkLegacy(stream);
    if (legacy != Status::Ok) return legacy;
    launch(executable, stream);
    return Status::Ok;
}

}  // namespace mock
