// Faults of a communication library, from variables named PREFIX_FAIL_AT, PREFIX_ASYNC_FAIL_AT, PREFIX_HANG_AT
// ("n" or "n:code", counted over the process's calls) and PREFIX_SLOW_RANK ("rank:microseconds").
#pragma once
#include "types.h"

namespace mock {

struct Injection {
    /** The front's code to answer with at once, or 0. */
    int code = 0;
    Fault fault = Fault::None;
};

/** Counts one operation. */
Injection inject();
int asyncFaultCode();
void delayIfSlow(int rank);

}  // namespace mock
