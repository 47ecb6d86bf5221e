#include "sticky.h"

#include <atomic>
#include <cstdarg>
#include <cstring>

#include "../base.h"

namespace mock {

namespace {
std::atomic<Status> sticky{Status::Ok};
}

void illegalAccess(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char* mode = std::getenv("MOCK_ILLEGAL_ACCESS");
    if (mode == nullptr || std::strcmp(mode, "error") != 0) fatal("illegal access: %s", text);
    setSticky(Status::IllegalAccess);
}

Status stickyStatus() { return sticky.load(std::memory_order_relaxed); }

void setSticky(Status status) {
    Status none = Status::Ok;
    sticky.compare_exchange_strong(none, status);
}

}  // namespace mock
