#include "front.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

#include "../../engine/base.h"
#include "../../engine/comm/registry.h"
#include "../cuda/link.h"

namespace mock {

const Vendor& vendor() {
    static const Vendor one = [] {
        int version = static_cast<int>(setting("MOCK_NCCL_VERSION", nccl::builtVersion));
        bool shares = version >= 23000 && setting("NCCL_MULTI_RANK_GPU_ENABLE", 0) == 1;
        char name[256] = "localhost";
        gethostname(name, sizeof name - 1);
        const char* host = std::getenv("NCCL_HOSTID");
        return Vendor{
            "MOCK_NCCL",       version,         shares, std::hash<std::string>()(host != nullptr ? host : name),
            ncclInternalError, ncclRemoteError, 0,       -1};
    }();
    return one;
}

RuntimeLink& vendorRuntime() {
    static RuntimeLink& link = *mockCudaRuntime();
    return link;
}

namespace nccl {

namespace {

Registry<Communicator>& registry() {
    static auto* all = new Registry<Communicator>();
    return *all;
}

struct LastError {
    std::mutex mutex;
    char text[512] = "";
    bool ofJob = false;
};

LastError& lastErrorSlot() {
    static auto* slot = new LastError();
    return *slot;
}

thread_local ncclResult_t groupError = ncclSuccess;

}  // namespace

std::shared_ptr<Communicator> find(ncclComm_t handle) {
    auto communicator = registry().find(handle);
    if (communicator == nullptr && handle != nullptr) fatal("a call on %p, which is no communicator any more", static_cast<void*>(handle));
    return communicator;
}

ncclComm_t publish(std::shared_ptr<Communicator> communicator) {
    return static_cast<ncclComm_t>(registry().publish(std::move(communicator)));
}

void retire(ncclComm_t handle, const std::shared_ptr<Communicator>& communicator) {
    communicator->freed = true;
    if (communicator->inside > 0) fatal("a communicator is freed while %d threads are inside", communicator->inside.load());
    if (!registry().retire(handle)) fatal("two threads free one communicator");
}

ncclResult_t fail(ncclResult_t code, const char* text) {
    LastError& slot = lastErrorSlot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    slot.ofJob = false;
    std::snprintf(slot.text, sizeof slot.text, "%s", text);
    return code;
}

void say(const std::string& text) {
    fail(ncclSuccess, text.c_str());
    LastError& slot = lastErrorSlot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    slot.ofJob = true;
}

ncclResult_t translate(Result result, const char* call) {
    auto code = static_cast<ncclResult_t>(static_cast<int>(result));
    if (result == Result::Ok || result == Result::InProgress) return code;
    {
        LastError& slot = lastErrorSlot();
        std::lock_guard<std::mutex> lock(slot.mutex);
        if (slot.ofJob) return code;
    }
    return fail(code, (std::string(call) + " : " + textOf(code)).c_str());
}

namespace {

ncclResult_t stateOf(const Communicator& communicator) {
    if (communicator.asyncCode() != 0) return static_cast<ncclResult_t>(communicator.asyncCode());
    if (communicator.inProgress) return ncclInProgress;
    return static_cast<ncclResult_t>(static_cast<int>(communicator.asyncResult()));
}

}  // namespace

ncclResult_t askState(Communicator& communicator) {
    if (!communicator.job) return stateOf(communicator);
    if (communicator.asked.exchange(true)) fatal("two threads ask about the job of one communicator, and both would free it");
    // Long enough for another thread to be met here.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    ncclResult_t state = stateOf(communicator);
    if (state == ncclSuccess) communicator.job = false;
    communicator.asked = false;
    return state;
}

ncclResult_t ensureReady(const std::shared_ptr<Communicator>& communicator, const char* call) {
    if (communicator == nullptr) {
        return fail(ncclInvalidArgument,
                    (std::string(call) + " : comm argument is NULL or no live communicator").c_str());
    }
    ncclResult_t state = askState(*communicator);
    if (state == ncclInProgress) {
        return fail(ncclInvalidArgument,
                    "Attempt to use communicator before the previous operation returned ncclSuccess");
    }
    if (state == ncclSuccess && !communicator->ready) {
        return fail(ncclInvalidArgument, "communicator is not initialized");
    }
    return state;
}

ncclResult_t inGroup(ncclResult_t code) {
    if (Group::current().isOpen() && code != ncclSuccess && code != ncclInProgress && groupError == ncclSuccess) {
        groupError = code;
    }
    return code;
}

const char* textOf(ncclResult_t code) {
    switch (static_cast<int>(code)) {
        case 0: return "no error";
        case 1: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case 2: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case 3: return "internal error - please report this issue to the NCCL developers";
        case 4: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case 5: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case 6: return "remote process exited or there was a network error";
        case 7: return "NCCL operation in progress";
        default: return "unknown result code";
    }
}

}  // namespace nccl
}  // namespace mock

MOCK_API const char* ncclGetErrorString(ncclResult_t code) { return mock::nccl::textOf(code); }

MOCK_API const char* ncclGetLastError(ncclComm_t) { return mock::nccl::lastErrorSlot().text; }

MOCK_API ncclResult_t ncclGetVersion(int* version) {
    if (version == nullptr) return mock::nccl::fail(ncclInvalidArgument, "GetVersion : version argument is NULL");
    *version = mock::vendor().version;
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclGroupStart() {
    mock::Group::current().start();
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclGroupEnd() {
    mock::Group& group = mock::Group::current();
    if (!group.isOpen()) return mock::nccl::fail(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    if (!group.leave()) return ncclSuccess;
    ncclResult_t error = std::exchange(mock::nccl::groupError, ncclSuccess);
    if (error == ncclSuccess) return mock::nccl::translate(group.flush(), "ncclGroupEnd");
    group.discard();
    return error;
}
