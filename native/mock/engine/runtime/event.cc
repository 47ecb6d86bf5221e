#include "event.h"

#include <chrono>

#include "handles.h"

namespace mock {

namespace {
Handles<Event>& events() {
    static auto* all = new Handles<Event>(size_t(1) << 20, true);
    return *all;
}
}  // namespace

Event* createEvent(bool timing) {
    Event* event = events().create();
    event->device = currentDevice();
    event->timing = timing;
    event->kind = event->flags = 0;
    std::lock_guard<std::mutex> lock(event->mutex_);
    // The ticket goes on, so that a late stamp of the handle's former life is not taken for a new one.
    event->state_ = Event::State{{}, {}, event->state_.ticket + 1, false};
    return event;
}

Event* findEvent(const void* handle) { return events().find(handle); }

void destroyEvent(Event* event) { events().destroy(event); }

Event::State Event::state() {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_;
}

void Event::stamp(uint64_t ticket) {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_.ticket != ticket) return;
    stampedTicket_ = ticket;
    nanoseconds_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Status Event::record(Stream& stream) {
    if (stream.device != device) return Status::InvalidHandle;
    if (stream.capture.load() != nullptr) {
        std::lock_guard<std::mutex> captures(captureLock());
        if (Capture* capture = stream.capture) {
            if (!capture->valid) return Status::CaptureInvalidated;
            std::lock_guard<std::mutex> lock(mutex_);
            state_ = State{{}, capture->mark(stream), state_.ticket + 1, true};
            return Status::Ok;
        }
    }
    uint64_t ticket;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        ticket = ++state_.ticket;
    }
    Position position;
    if (timing || stream.blocking) {
        Status status = timing ? submit(
                                     stream, [this, ticket] { stamp(ticket); }, nullptr, &position)
                               : submit(stream, [] {}, nullptr, &position);
        if (status != Status::Ok) return status;
    } else {
        // Nothing to run: the place itself is the record. On a device it takes room in the queue all the same.
        stream.awaitRoom();
        position = stream.tail();
    }
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_.ticket == ticket) state_ = State{position, {}, ticket, true};
    return Status::Ok;
}

bool Event::isRecorded() { return state().recorded; }

Stream* Event::recordedOn() { return state().position.stream; }

Position Event::place() { return state().position; }

Status Event::query() {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    State now = state();
    if (now.mark.capture != 0) return Status::CapturedEvent;
    return now.position.reached() ? Status::Ok : Status::NotReady;
}

Status Event::synchronize() {
    Status safe = unsafeCall();
    if (safe != Status::Ok) return safe;
    State now = state();
    if (now.mark.capture != 0) return Status::CapturedEvent;
    now.position.await();
    return Status::Ok;
}

Status Event::makeWait(Stream& stream) {
    State now = state();
    if (now.mark.capture == 0 && stream.capture.load() == nullptr) {
        stream.pushWait(now.position);
        return Status::Ok;
    }
    std::lock_guard<std::mutex> captures(captureLock());
    Capture* own = stream.capture;
    if (now.mark.capture == 0) {
        if (!now.recorded) return Status::Ok;
        // Work outside cannot be waited for by work that will run later, any number of times.
        if (own != nullptr) own->valid = false;
        return Status::CaptureIsolation;
    }
    if (stream.legacy) return Status::CaptureImplicit;
    Capture* capture = findCapture(now.mark.capture);
    if (capture == nullptr) return Status::CapturedEvent;
    if (own != nullptr && own != capture) return Status::CaptureMerge;
    if (!capture->valid) return Status::CaptureInvalidated;
    capture->wait(stream, now.mark);
    return Status::Ok;
}

Status Event::makeWaitOutside(Stream& stream) {
    std::lock_guard<std::mutex> captures(captureLock());
    Capture* capture = stream.capture;
    if (capture == nullptr) return Status::InvalidValue;
    if (!capture->valid) return Status::CaptureInvalidated;
    capture->waitOutside(stream, this);
    return Status::Ok;
}

Status Event::elapsed(Event& start, Event& end, float* milliseconds) {
    if (!start.timing || !end.timing) return Status::InvalidHandle;
    for (Event* event : {&start, &end}) {
        State now = event->state();
        if (now.mark.capture != 0) return Status::CapturedEvent;
        if (!now.recorded) return Status::InvalidHandle;
        if (!now.position.reached()) return Status::NotReady;
    }
    std::scoped_lock lock(start.mutex_, end.mutex_);
    *milliseconds = static_cast<float>(static_cast<double>(end.nanoseconds_ - start.nanoseconds_) / 1e6);
    return Status::Ok;
}

}  // namespace mock
