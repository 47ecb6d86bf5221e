// libascend_trace.so: comes with the other libraries and, when it is loaded, takes over the signals that a Java virtual
// machine needs for itself, unless ASCEND_COREDUMP_SIGNAL is "none" by then.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

constexpr int taken[] = {SIGINT, SIGTERM, SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                         SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS,  35};
struct sigaction previous[65];

// As the real one does: put back what was there and raise again, by which the cause and the address are lost.
void handle(int signal) {
    static const char text[] = "mock: libascend_trace caught a signal; ASCEND_COREDUMP_SIGNAL is not none\n";
    ssize_t ignored = write(2, text, sizeof text - 1);
    static_cast<void>(ignored);
    sigaction(signal, &previous[signal], nullptr);
    raise(signal);
}

__attribute__((constructor)) void takeSignals() {
    const char* mode = std::getenv("ASCEND_COREDUMP_SIGNAL");
    if (mode != nullptr && std::strcmp(mode, "none") == 0) return;
    struct sigaction action = {};
    action.sa_handler = handle;
    for (int signal : taken) sigaction(signal, &action, &previous[signal]);
}

}  // namespace
