// What the runtime engine asks its vendor front.
#pragma once
#include <vector>

namespace mock {

struct Traits {
    /** The physical number of each device that the process sees. */
    std::vector<int> devices;
    /** The device of a thread that has chosen none, or -1 when it has none. */
    int initialDevice;
    /** Answered for MOCK_RUNTIME_FAIL_AT without a code. */
    int faultCode;
};

/** Defined by the front. */
const Traits& traits();

/** 0, 1, ... as many as MOCK_DEVICES says. */
std::vector<int> allDevices();

}  // namespace mock
