// Events: a place in a stream's order (or in a capture), taken when recorded.
#pragma once
#include <atomic>
#include <mutex>

#include "graph.h"
#include "runtime.h"

namespace mock {

class Event {
public:
    Status record(Stream& stream);
    Status query();
    Status synchronize();
    /** What the stream gets after this call runs after what the event stood for at this call. */
    Status makeWait(Stream& stream);
    /** In a capture: what the stream gets at a replay waits for what the event stands for then. */
    Status makeWaitOutside(Stream& stream);
    static Status elapsed(Event& start, Event& end, float* milliseconds);

    bool isRecorded();
    /** The stream of the last record, or null. */
    Stream* recordedOn();
    /** The last record's place; nothing when there is none. */
    Position place();

    std::atomic<bool> live{false};
    /** For the front. */
    unsigned kind = 0;
    unsigned flags = 0;
    int device = 0;
    bool timing = true;

private:
    friend Event* createEvent(bool timing);
    struct State {
        Position position;
        Mark mark;
        uint64_t ticket = 0;
        bool recorded = false;
    };
    State state();
    void stamp(uint64_t ticket);

    std::mutex mutex_;
    State state_;
    uint64_t stampedTicket_ = 0;
    int64_t nanoseconds_ = 0;
};

Event* createEvent(bool timing);
Event* findEvent(const void* handle);
void destroyEvent(Event* event);

}  // namespace mock
