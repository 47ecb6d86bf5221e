#include "front.h"

#include <cstdarg>
#include <cstring>
#include <functional>
#include <map>
#include <unistd.h>

#include "../../engine/comm/registry.h"
#include "../acl/link.h"
#include "../acl/release.h"

namespace mock {

const Vendor& vendor() {
    static const Vendor one = [] {
        char name[256] = "localhost";
        gethostname(name, sizeof name - 1);
        int version = acl::release.major * 100 + acl::release.minor;
        return Vendor{"MOCK_HCCL",
                      version,
                      false,
                      std::hash<std::string>()(name),
                      HCCL_E_INTERNAL,
                      HCCL_E_REMOTE,
                      ACL_ERROR_RT_MODEL_EXECUTE};
    }();
    return one;
}

RuntimeLink& vendorRuntime() {
    static RuntimeLink& link = *mockAclRuntime();
    return link;
}

namespace hccl {

namespace {

Registry<Comm>& registry() {
    static auto* all = new Registry<Comm>();
    return *all;
}

struct Names {
    std::mutex mutex;
    std::map<std::pair<int, std::string>, HcclComm> live;
};

Names& names() {
    static auto* one = new Names();
    return *one;
}

thread_local int notedDevice = -1;

}  // namespace

HcclResult fail(HcclResult code, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vendorRuntime().explain(text);
    return code;
}

HcclResult translate(Result result, const char* call) {
    switch (result) {
        case Result::Ok: return HCCL_SUCCESS;
        case Result::Runtime: return fail(HCCL_E_RUNTIME, "%s: a call of the runtime failed", call);
        case Result::System:
            return fail(HCCL_E_TCP_CONNECT, "%s: the root process is not there, or the root info was used before",
                        call);
        case Result::InvalidArgument: return fail(HCCL_E_PARA, "%s: invalid argument", call);
        case Result::Timeout: return fail(HCCL_E_TIMEOUT, "%s: not all ranks came to link up", call);
        case Result::Remote: return fail(HCCL_E_REMOTE, "%s: a peer failed", call);
        default: return fail(HCCL_E_INTERNAL, "%s: ranks disagree, or internal error", call);
    }
}

int threadDevice(const char* call) {
    int device = vendorRuntime().currentDevice();
    if (device < 0) fail(HCCL_E_RUNTIME, "%s: this thread has set no device", call);
    return device;
}

void noteThreadDevice(int device) { notedDevice = device; }

std::shared_ptr<Comm> find(const char* call, HcclComm handle) {
    auto comm = registry().find(handle);
    if (comm == nullptr) fatal("%s: %p is no live communicator", call, static_cast<void*>(handle));
    return comm;
}

HcclResult enter(const char* call, HcclComm handle, std::shared_ptr<Comm>* comm) {
    if (handle == nullptr) return fail(HCCL_E_PTR, "%s: null communicator", call);
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    *comm = find(call, handle);
    if (notedDevice >= 0 && notedDevice != device) {
        fatal("%s: this thread went from device %d to %d; HCCL still uses the first", call, notedDevice, device);
    }
    notedDevice = device;
    if ((*comm)->ranks->device == device) return HCCL_SUCCESS;
    return fail(HCCL_E_RUNTIME, "%s: the thread is on device %d, the communicator on %d", call, device,
                (*comm)->ranks->device);
}

HcclComm publish(std::shared_ptr<Comm> comm) {
    std::pair<int, std::string> key{comm->ranks->device, comm->name};
    auto handle = static_cast<HcclComm>(registry().publish(std::move(comm)));
    std::lock_guard<std::mutex> lock(names().mutex);
    names().live[key] = handle;
    return handle;
}

bool retire(HcclComm handle) {
    auto comm = registry().find(handle);
    if (comm == nullptr || !registry().retire(handle)) return false;
    std::lock_guard<std::mutex> lock(names().mutex);
    names().live.erase({comm->ranks->device, comm->name});
    return true;
}

HcclComm named(int device, const std::string& name) {
    std::lock_guard<std::mutex> lock(names().mutex);
    auto found = names().live.find({device, name});
    return found == names().live.end() ? nullptr : found->second;
}

}  // namespace hccl
}  // namespace mock

MOCK_API const char* HcclGetErrorString(HcclResult code) {
    static const char* const texts[] = {"no error",
                                        "parameter error",
                                        "empty pointer",
                                        "memory error",
                                        "internal error",
                                        "not support feature",
                                        "not found specific resource",
                                        "resource unavailable",
                                        "call system interface error",
                                        "timeout",
                                        "open file failure",
                                        "tcp connect failure",
                                        "roce connect failure",
                                        "tcp transfer failure",
                                        "roce transfer failure",
                                        "call runtime api failure",
                                        "call driver api failure",
                                        "call profiling api failure",
                                        "call cce api failure",
                                        "call network api failure",
                                        "try again",
                                        "error cqe",
                                        "error communicator suspending",
                                        "retry constraint",
                                        "out of memory"};
    auto index = static_cast<size_t>(code);
    return index < sizeof texts / sizeof *texts ? texts[index] : "unknow error";
}
