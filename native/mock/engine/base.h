// What both halves of the engine (runtime and communicators) share.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

/** For the functions that a front has under their vendor's names. */
#define MOCK_API extern "C" __attribute__((visibility("default")))

namespace mock {

/** Prints why and ends the process: the mock never guesses what a broken program meant. */
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void fatal(const char* format, ...) {
    char text[1024];
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    __builtin_va_end(arguments);
    std::fprintf(stderr, "mock (pid %d): %s\n", static_cast<int>(getpid()), text);
    std::fflush(stderr);
    std::abort();
}

inline long setting(const char* name, long fallback) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == 0 ? fallback : std::strtol(text, nullptr, 10);
}

/** Sleeps between two polls: 100 us at first, and 10 ms in a wait that lasts, which then takes little of a processor. */
class PollingPause {
public:
    void operator()() {
        usleep(micros_);
        if (micros_ < 10000) micros_ += micros_ / 20;
    }

private:
    useconds_t micros_ = 100;
};

/** A small generator (splitmix64): a stream's delays repeat exactly for one seed. */
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }

private:
    uint64_t state_;
};

}  // namespace mock
