// What the runtime engine asks its vendor front.
#pragma once

namespace mock {

struct Traits {
    /** The device of a thread that has chosen none, or -1 when it has none. */
    int initialDevice;
    /** Answered for MOCK_RUNTIME_FAIL_AT without a code. */
    int faultCode;
    /** After an operation has failed on a device every call answers its code; else its stream tells it. */
    bool failsForGood;
};

/** Defined by the front. */
extern const Traits traits;

}  // namespace mock
