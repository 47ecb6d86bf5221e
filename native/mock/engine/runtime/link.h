// How a communication library of the same vendor reaches the runtime library. Each runtime front exports a function
// of its own name that hands this out, so that the libraries of several vendors can live in one process.
#pragma once
#include <memory>
#include <string>

#include "graph.h"
#include "status.h"
#include "stream.h"

namespace mock {

class RuntimeLink {
public:
    static constexpr int host = -1;

    virtual int deviceCount() = 0;
    virtual int currentDevice() = 0;
    virtual Status setCurrentDevice(int device) = 0;
    /** Compute capability, major * 10 + minor. */
    virtual int capability() = 0;

    virtual Stream* findStream(const void* handle) = 0;
    /** On the thread's device; without order to the device's own stream. */
    virtual Stream* createStream() = 0;
    virtual Status submit(Stream& stream, Task task, std::shared_ptr<Order> order) = 0;
    /** What `waiter` gets from now on runs after all that `other` has. Works in a capture too. */
    virtual Status join(Stream& waiter, Stream& other) = 0;
    virtual bool isCaptured(Stream& stream) = 0;
    virtual void await(Order& order) = 0;
    virtual void await(Stream& stream) = 0;
    /** All that runs on a device. */
    virtual void awaitDevice(int device) = 0;
    virtual bool isIdle(Stream& stream) = 0;

    /** The device of an address, or `host`. */
    virtual int deviceOf(const void* address) = 0;
    /** Where a worker finds bytes of a device; ends the process for any others. */
    virtual char* view(const void* address, size_t bytes, const char* user) = 0;
    virtual Status allocate(void** address, size_t bytes) = 0;
    virtual Status release(void* address) = 0;
    /** A device's memory that the library has for itself, without an address. */
    virtual bool reserve(int device, size_t bytes) = 0;
    virtual void giveBack(int device, size_t bytes) = 0;

    /** Keeps a text for whoever asks this thread's runtime what went wrong. */
    virtual void explain(const std::string& text) = 0;

protected:
    ~RuntimeLink() = default;
};

/** Of the library this is linked into. */
RuntimeLink& ownRuntime();

}  // namespace mock
