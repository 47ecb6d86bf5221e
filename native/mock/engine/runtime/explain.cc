#include "explain.h"

#include <utility>

namespace mock {

namespace {
thread_local std::string last;
}

void explain(const std::string& text) { last = text; }

std::string takeExplanation() { return std::exchange(last, std::string()); }

}  // namespace mock
