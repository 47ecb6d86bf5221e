// What the engine asks its vendor front.
#pragma once
#include <cstdint>

namespace mock {

struct Vendor {
    /** First part of the environment variables for faults. */
    const char* prefix;
    int version;
    /** Ranks with the same host and device collide, unless this is set. */
    bool sharesDevices;
    uint64_t host;
};

/** Defined by the front. */
const Vendor& vendor();

}  // namespace mock
