#include "faults.h"

#include <chrono>
#include <string>
#include <thread>

#include "../fault.h"
#include "vendor.h"

namespace mock {

namespace {

struct Faults {
    const std::string prefix = vendor().prefix;
    FaultPoint failure{prefix + "_FAIL_AT", vendor().faultCode};
    FaultPoint async{prefix + "_ASYNC_FAIL_AT", vendor().asyncFaultCode};
    FaultPoint hang{prefix + "_HANG_AT", 1};
    int slowRank = -1;
    int slowMicroseconds = 0;

    Faults() {
        const char* slow = std::getenv((prefix + "_SLOW_RANK").c_str());
        if (slow != nullptr && std::sscanf(slow, "%d:%d", &slowRank, &slowMicroseconds) != 2) {
            fatal("%s_SLOW_RANK: %s is not rank:microseconds", prefix.c_str(), slow);
        }
    }
};

Faults& faults() {
    static auto* one = new Faults();
    return *one;
}

}  // namespace

Injection inject() {
    Injection injection;
    injection.code = faults().failure.hit();
    if (faults().async.hit() != 0) injection.fault = Fault::AsyncError;
    if (faults().hang.hit() != 0) injection.fault = Fault::Hang;
    return injection;
}

int asyncFaultCode() { return faults().async.code(); }

void delayIfSlow(int rank) {
    if (faults().slowRank == rank) std::this_thread::sleep_for(std::chrono::microseconds(faults().slowMicroseconds));
}

}  // namespace mock
