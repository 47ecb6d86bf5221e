#include "faults.h"

#include <chrono>
#include <string>
#include <thread>

#include "../fault.h"
#include "vendor.h"

namespace mock {

namespace {

struct Faults {
    std::string prefix = vendor().prefix;
    FaultPoint failure{prefix + "_FAIL_AT", vendor().faultCode};
    FaultPoint async{prefix + "_ASYNC_FAIL_AT", vendor().asyncFaultCode};
    FaultPoint hang{prefix + "_HANG_AT", 1};
    long rank = setting((prefix + "_FAULT_RANK").c_str(), -1);
    long slowRank = setting((prefix + "_SLOW_RANK").c_str(), -1);
    long slowTime = 0;
    OnMismatch mismatch = OnMismatch::Hang;
    bool deadPeers = text("_PEER_DEATH") == "error";

    Faults() {
        std::string slow = text("_SLOW_RANK");
        size_t colon = slow.find(':');
        if (colon != std::string::npos) slowTime = std::strtol(slow.c_str() + colon + 1, nullptr, 10);
        if (text("_MISMATCH") == "error") mismatch = OnMismatch::Error;
        if (text("_MISMATCH") == "abort") mismatch = OnMismatch::Abort;
    }

    std::string text(const char* name) const {
        const char* value = std::getenv((prefix + name).c_str());
        return value == nullptr ? "" : value;
    }
};

Faults& faults() {
    static auto* one = new Faults();
    return *one;
}

}  // namespace

Injection injectInto(int rank) {
    Faults& all = faults();
    if (all.rank >= 0 && all.rank != rank) return {};
    Injection injection;
    injection.code = all.failure.hit();
    if (all.async.hit() != 0) injection.fault = Fault::AsyncError;
    if (all.hang.hit() != 0) injection.fault = Fault::Hang;
    return injection;
}

int asyncFaultCode() { return faults().async.code(); }

void delayIfSlow(int rank) {
    if (faults().slowRank == rank) std::this_thread::sleep_for(std::chrono::microseconds(faults().slowTime));
}

OnMismatch onMismatch() { return faults().mismatch; }

bool reportsDeadPeers() { return faults().deadPeers; }

}  // namespace mock
