// An illegal access ends the process with a message, or, with MOCK_ILLEGAL_ACCESS=error, breaks the runtime for
// good, as it does on a device: every later call answers with the same error.
#pragma once
#include "status.h"

namespace mock {

[[gnu::format(printf, 1, 2)]] void illegalAccess(const char* format, ...);
Status stickyStatus();
void setSticky(Status status);

}  // namespace mock
