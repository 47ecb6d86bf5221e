// Making and ending communicators.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "../acl/release.h"
#include "front.h"
#include "rootinfo.h"
#include "support.h"

using namespace mock;
using namespace mock::hccl;

namespace mock::hccl {

namespace {

std::atomic<uint64_t> unnamed{0};

/** Communicators that have run an operation and were not destroyed. */
std::atomic<int> used{0};

/**
 * In a CCU mode, HCCL destroys the kernels of its communicators before the communicators, in static destructors: the
 * heap is corrupt then, and the process ends with a signal.
 */
struct Kernels {
    ~Kernels() {
        const char* mode = std::getenv("HCCL_OP_EXPANSION_MODE");
        if (used == 0 || mode == nullptr || std::string(mode).rfind("CCU", 0) != 0) return;
        std::fprintf(stderr, "mock (pid %d): the process ends with %d communicators whose kernels are gone\n", getpid(),
                     used.load());
        std::abort();
    }
} kernels;

/** Whether the HCCP of an earlier process is still on the device: for the first caller, which leaves a file. */
bool isNotReady() {
    const char* file = std::getenv("MOCK_HCCL_NOT_READY");
    int created = file == nullptr ? -1 : open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (created >= 0) close(created);
    return created >= 0;
}

std::mutex formingMutex;

/** The call that is forming a communicator on each device. */
std::map<int, std::string>& forming() {
    static auto* calls = new std::map<int, std::string>();
    return *calls;
}

}  // namespace

Forming::Forming(const char* call, int device) : device_(device) {
    std::lock_guard<std::mutex> lock(formingMutex);
    auto other = forming().find(device);
    if (other != forming().end()) {
        fatal("%s on device %d: %s is inside; HCCL forms one communicator at a time on a device", call, device,
              other->second.c_str());
    }
    forming()[device] = call;
}

Forming::~Forming() {
    std::lock_guard<std::mutex> lock(formingMutex);
    forming().erase(device_);
}

HcclResult makeBuffers(Comm& comm) {
    std::lock_guard<std::mutex> lock(comm.buffersMutex);
    if (comm.hasBuffers) return HCCL_SUCCESS;
    if (!vendorRuntime().reserve(comm.ranks->device, 2 * comm.bufferBytes)) return HCCL_E_PTR;
    comm.hasBuffers = true;
    ++used;
    return HCCL_SUCCESS;
}

HcclResult join(const char* call, uint32_t size, uint32_t rank, int device, const UniqueId& id, const Options& options,
                bool global, HcclComm* handle) {
    const char* unlisted = std::getenv("HCCL_WHITELIST_DISABLE");
    if (unlisted == nullptr || std::string(unlisted) != "1") {
        return fail(HCCL_E_PARA, "%s: HCCL_WHITELIST_DISABLE is not 1, and the list of hosts is not mocked", call);
    }
    if (isNotReady()) {
        return fail(HCCL_E_INTERNAL, "EJ0001: Failed to initialize the HCCP process. Reason: Maybe the last training "
                                     "process is running. Solution: Wait for 10s and try again.");
    }
    auto comm = std::make_shared<Comm>();
    Settings settings;
    settings.rendezvous = true;
    settings.physicalDevice = device + 1000 * options.server;
    settings.meetingSeconds = setting("HCCL_CONNECT_TIMEOUT", 120);
    comm->ranks = std::make_shared<Communicator>(static_cast<int>(size), static_cast<int>(rank), device, settings);
    comm->isGlobal = global;
    comm->server = options.server;
    comm->bufferBytes = static_cast<size_t>(options.bufferMegabytes) << 20;
    comm->busy = setting("MOCK_HCCL_DESTROY_AGAIN", 0);
    comm->name = !options.name.empty() ? options.name : "hccl_world_group_" + std::to_string(++unnamed);
    if (named(device, comm->name) != nullptr) {
        return fail(HCCL_E_PARA, "%s: a communicator named %s exists", call, comm->name.c_str());
    }
    HcclResult met = translate(comm->ranks->initialize(id), call);
    if (met != HCCL_SUCCESS) return met;
    if (vendorRuntime().allocate(&comm->token, sizeof(float)) != Status::Ok) {
        return fail(HCCL_E_OOM, "%s: no device memory", call);
    }
    *handle = publish(std::move(comm));
    return HCCL_SUCCESS;
}

}  // namespace mock::hccl

namespace {

HcclResult initialize(const char* call, uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                      const HcclCommConfig* config, bool needsConfig, HcclComm* comm) {
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    noteThreadDevice(device);
    noteCall(call);
    Forming forming(call, device);
    if (rootInfo == nullptr || comm == nullptr || (needsConfig && config == nullptr)) {
        return fail(HCCL_E_PTR, "%s: null argument", call);
    }
    if (nRanks == 0 || rank >= nRanks) return fail(HCCL_E_PARA, "%s: rank %u of %u", call, rank, nRanks);
    Options options;
    HcclResult read = readConfig(call, config, &options);
    if (read != HCCL_SUCCESS) return read;
    UniqueId id;
    if (!parseRootInfo(*rootInfo, &id)) {
        return fail(HCCL_E_PARA, "%s: the %d bytes are not what HcclGetRootInfo wrote", call, HCCL_ROOT_INFO_BYTES);
    }
    return join(call, nRanks, rank, device, id, options, true, comm);
}

}  // namespace

MOCK_API HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
    if (rootInfo == nullptr) return fail(HCCL_E_PTR, "HcclGetRootInfo: null argument");
    int device = threadDevice("HcclGetRootInfo");
    if (device < 0) return HCCL_E_RUNTIME;
    UniqueId id;
    Result created = Segment::createId(&id);
    if (created == Result::Ok) writeRootInfo(id, rootInfo);
    return translate(created, "HcclGetRootInfo");
}

MOCK_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm) {
    return initialize("HcclCommInitRootInfo", nRanks, rootInfo, rank, nullptr, false, comm);
}

MOCK_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                               const HcclCommConfig* config, HcclComm* comm) {
    return initialize("HcclCommInitRootInfoConfig", nRanks, rootInfo, rank, config, true, comm);
}

MOCK_API HcclResult HcclCreateSubCommConfig(HcclComm* parentAddress, uint32_t rankNum, uint32_t* rankIds,
                                            uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig* config,
                                            HcclComm* subComm) {
    const char* call = "HcclCreateSubCommConfig";
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    noteThreadDevice(device);
    noteCall(call);
    Forming forming(call, device);
    if (parentAddress == nullptr || subComm == nullptr) return fail(HCCL_E_PTR, "%s: null argument", call);
    // Who is no member says so with this number.
    if (rankIds == nullptr && subCommId == 0xFFFFFFFFu) return HCCL_SUCCESS;
    if (rankIds == nullptr || config == nullptr) return fail(HCCL_E_PTR, "%s: null argument", call);
    if (*subComm != nullptr) fatal("%s: the result has to be null on entry", call);
    auto parent = find(call, *parentAddress);
    if (supports(call, static_cast<size_t>(parent->ranks->size)) != Support::Works) {
        return fail(HCCL_E_NOT_SUPPORT, "%s: this chip has it not", call);
    }
    if (!parent->isGlobal) return fail(HCCL_E_PARA, "%s: the parent is itself a sub-communicator", call);
    if (parent->ranks->device != device) return fail(HCCL_E_PARA, "%s: the parent is on another device", call);
    std::set<uint32_t> distinct(rankIds, rankIds + rankNum);
    if (rankNum == 0 || distinct.size() != rankNum ||
        *distinct.rbegin() >= static_cast<uint32_t>(parent->ranks->size) || subCommRankId >= rankNum ||
        rankIds[subCommRankId] != static_cast<uint32_t>(parent->ranks->rank)) {
        return fail(HCCL_E_PARA, "%s: the list of ranks, or the place in it, is wrong", call);
    }
    if (!std::is_sorted(rankIds, rankIds + rankNum)) {
        return fail(HCCL_E_PARA, "%s: the list of ranks is not in ascending order", call);
    }
    Options options;
    HcclResult read = readConfig(call, config, &options);
    if (read != HCCL_SUCCESS) return read;
    options.server = parent->server;
    if (options.name.empty()) options.name = parent->name + "_sub_" + std::to_string(subCommId);
    uint64_t key = subCommId * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = 0; i < rankNum; ++i) key = (key ^ rankIds[i]) * 0x100000001b3ull;
    UniqueId id;
    Result met = subCommRankId == 0 ? parent->ranks->invite(key, static_cast<int>(rankNum) - 1, &id)
                                    : parent->ranks->accept(key, &id);
    if (met != Result::Ok) return translate(met, call);
    return join(call, rankNum, subCommRankId, device, id, options, false, subComm);
}

MOCK_API HcclResult HcclCommDestroy(HcclComm handle) {
    const char* call = "HcclCommDestroy";
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    noteThreadDevice(device);
    if (handle == nullptr) return HCCL_SUCCESS;
    auto comm = find(call, handle);
    if (comm->ranks->device != device) {
        return fail(HCCL_E_PARA, "%s: the communicator is on device %d, not %d", call, comm->ranks->device, device);
    }
    if (comm->issuing > 0 || comm->busy.fetch_sub(1) > 0) {
        return fail(HCCL_E_AGAIN, "%s: an operation is being issued", call);
    }
    const char* set = std::getenv("MOCK_HCCL_DESTROY");
    std::string manner = set == nullptr ? "" : set;
    if (manner == "fails") return fail(HCCL_E_INTERNAL, "%s: MOCK_HCCL_DESTROY", call);
    if (manner == "waits") vendorRuntime().await(*comm->ranks->order);
    if (!retire(handle)) fatal("%s: destroyed twice", call);
    if (manner == "leaves") return HCCL_SUCCESS;
    // What has not ended by now never will: synchronize first, or mean to abort.
    comm->ranks->abort();
    vendorRuntime().await(*comm->ranks->order);
    vendorRuntime().release(comm->token);
    if (comm->hasBuffers) {
        vendorRuntime().giveBack(device, 2 * comm->bufferBytes);
        --used;
    }
    return HCCL_SUCCESS;
}

MOCK_API HcclResult HcclGetCommAsyncError(HcclComm handle, HcclResult* asyncError) {
    if (handle == nullptr || asyncError == nullptr) return fail(HCCL_E_PTR, "HcclGetCommAsyncError: null argument");
    auto comm = find("HcclGetCommAsyncError", handle);
    // The path of this chip hands the address on and writes nothing when nothing happened.
    if (chip() != Chip::A5) *asyncError = HCCL_SUCCESS;
    if (comm->ranks->asyncCode() != 0) *asyncError = static_cast<HcclResult>(comm->ranks->asyncCode());
    return HCCL_SUCCESS;
}

MOCK_API uint32_t HcclGetCommConfigCapability() { return acl::release.capability; }
