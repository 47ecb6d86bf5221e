// What the runtime engine asks its vendor front.
#pragma once

namespace mock {

struct Traits {
    /** The device of a thread that has chosen none, or -1 when it has none. */
    int initialDevice;
    /** Answered for MOCK_RUNTIME_FAIL_AT without a code. */
    int faultCode;
};

/** Defined by the front. */
extern const Traits traits;

}  // namespace mock
