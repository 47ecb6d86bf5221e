// What the engine asks its vendor front.
#pragma once
#include <cstdint>

#include "../runtime/link.h"

namespace mock {

struct Vendor {
    /** First part of the environment variables for faults. */
    const char* prefix;
    int version;
    /** Ranks with the same host and device collide, unless this is set. */
    bool sharesDevices;
    uint64_t host;
    /** Answered for injected errors without a code: by a call, and asynchronously. */
    int faultCode;
    int asyncFaultCode;
    /** What a stream shows after an operation of a stopped communicator, or 0. */
    int stoppedCode;
    /** How long the first operation waits for its peers, unless a variable says so: 0 not at all, -1 without a limit. */
    long connectMilliseconds = 0;
};

/** Defined by the front. */
const Vendor& vendor();
RuntimeLink& vendorRuntime();

}  // namespace mock
