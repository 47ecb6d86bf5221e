// Injected errors: "n" or "n:code" in an environment variable means the n-th counted call.
#pragma once
#include <atomic>
#include <climits>
#include <cstdlib>
#include <string>

#include "base.h"

namespace mock {

class FaultPoint {
public:
    FaultPoint(const std::string& variable, int defaultCode) : code_(defaultCode) {
        const char* text = std::getenv(variable.c_str());
        if (text == nullptr || *text == 0) return;
        char* rest = nullptr;
        at_ = std::strtol(text, &rest, 10);
        if (*rest == ':') code_ = static_cast<int>(std::strtol(rest + 1, nullptr, 10));
    }

    /** Counts one call; the code to fail with, or 0. Counting starts at 1. */
    int hit() {
        if (at_ <= 0) return 0;
        return calls_.fetch_add(1) + 1 == at_ ? code_ : 0;
    }

    int code() const { return code_; }

private:
    long at_ = 0;
    int code_;
    std::atomic<long> calls_{0};
};

}  // namespace mock
