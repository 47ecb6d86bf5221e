// Faults of a communication library, from variables named PREFIX_FAIL_AT, PREFIX_ASYNC_FAIL_AT, PREFIX_HANG_AT
// ("n" or "n:code", counted over the process's calls), PREFIX_FAULT_RANK, PREFIX_SLOW_RANK ("rank:microseconds"),
// PREFIX_MISMATCH (hang, error, abort) and PREFIX_PEER_DEATH (hang, error).
#pragma once
#include "types.h"

namespace mock {

struct Injection {
    /** The front's code to answer with at once, or 0. */
    int code = 0;
    Fault fault = Fault::None;
};

/** Counts one operation of a rank. */
Injection injectInto(int rank);
int asyncFaultCode();
void delayIfSlow(int rank);

enum class OnMismatch { Hang, Error, Abort };
OnMismatch onMismatch();
bool reportsDeadPeers();

}  // namespace mock
