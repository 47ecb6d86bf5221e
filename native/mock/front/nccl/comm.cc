// Making, dividing and ending communicators.
#include <algorithm>
#include <climits>
#include <cstring>
#include <set>
#include <thread>

#include "front.h"

using namespace mock;
using namespace mock::nccl;

namespace {

UniqueId parse(const ncclUniqueId& id) {
    UniqueId result;
    std::memcpy(&result, id.internal, sizeof result);
    return result;
}

ncclUniqueId format(const UniqueId& id) {
    ncclUniqueId result{};
    std::memcpy(result.internal, &id, sizeof id);
    return result;
}

/** Checks a configuration as the library does; null means the defaults, or the parent's settings. */
ncclResult_t readConfig(const ncclConfig_t* config, Settings* settings) {
    if (config == nullptr) return ncclSuccess;
    constexpr int undefined = INT_MIN;
    ncclConfig_t own;
    std::memset(&own, 0, sizeof own);
    std::memcpy(&own, config, std::min(config->size, sizeof own));
    if (own.magic != NCCL_API_MAGIC) {
        return fail(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    }
    if (own.size < offsetof(ncclConfig_t, cgaClusterSize))
        return fail(ncclInvalidArgument, "ncclConfig_t has no valid size");
    if (own.blocking != undefined && own.blocking != 0 && own.blocking != 1) {
        return fail(ncclInvalidArgument, "Invalid config blocking attribute value");
    }
    if (own.blocking != undefined) settings->blocking = own.blocking == 1;
    if (own.size < offsetof(ncclConfig_t, netName)) return ncclSuccess;
    if (own.cgaClusterSize != undefined && own.cgaClusterSize < 0) {
        return fail(ncclInvalidArgument, "Invalid config cgaClusterSize attribute value");
    }
    bool badMinimum = own.minCTAs != undefined && own.minCTAs <= 0;
    bool badMaximum = own.maxCTAs != undefined && own.maxCTAs <= 0;
    // An undefined maximum is the lowest number there is, and is compared like any other.
    bool crossed = own.minCTAs > own.maxCTAs;
    if (badMinimum || badMaximum || crossed)
        return fail(ncclInvalidArgument, "Invalid config min/max channels attribute value");
    if (own.size < offsetof(ncclConfig_t, trafficClass)) return ncclSuccess;
    if (own.splitShare != undefined && own.splitShare != 0 && own.splitShare != 1) {
        return fail(ncclInvalidArgument, "Invalid config splitShare attribute value");
    }
    return ncclSuccess;
}

ncclResult_t initialize(ncclComm_t* handle, int size, const UniqueId& id, int rank, int device,
                        const ncclConfig_t* config, const char* call) {
    if (handle == nullptr) return fail(ncclInvalidArgument, "CommInitRank : comm argument is NULL");
    *handle = nullptr;
    if (vendorRuntime().deviceCount() == 0)
        return fail(ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    if (size < 1 || rank < 0 || rank >= size) return fail(ncclInvalidArgument, "Invalid rank requested");
    Settings settings;
    ncclResult_t read = readConfig(config, &settings);
    if (read != ncclSuccess) return read;
    auto communicator = std::make_shared<Communicator>(size, rank, device, settings);
    *handle = publish(communicator);
    Result result =
        Group::current().add(Job{communicator, [communicator, id] { return communicator->initialize(id); }});
    if (result != Result::Ok && result != Result::InProgress) {
        retire(*handle);
        *handle = nullptr;
    }
    return translate(result, call);
}

/** A job of the parent's that, when it succeeds, makes the child and shows it to the caller. */
using Divide = std::function<Result(Communicator& parent, Communicator::Membership* membership)>;

ncclResult_t makeChild(ncclComm_t handle, ncclComm_t* child, const ncclConfig_t* config, const char* call,
                       const Divide& divide) {
    auto parent = find(handle);
    ncclResult_t ready = ensureReady(parent, call);
    if (ready != ncclSuccess) return ready;
    if (child == nullptr) return fail(ncclInvalidArgument, "newcomm argument is NULL");
    *child = nullptr;
    Settings settings = parent->settings;
    ncclResult_t read = readConfig(config, &settings);
    if (read != ncclSuccess) return read;
    Result result = Group::current().add(Job{parent, [=] {
                                                 Communicator::Membership membership;
                                                 Result divided = divide(*parent, &membership);
                                                 if (divided != Result::Ok || membership.rank < 0) return divided;
                                                 auto made = std::make_shared<Communicator>(
                                                     membership.size, membership.rank, parent->device, settings);
                                                 Result met = made->initialize(membership.id);
                                                 if (met == Result::Ok) *child = publish(made);
                                                 return met;
                                             }});
    return translate(result, call);
}

std::vector<int> allBut(const Communicator& communicator, const int* excluded, int count) {
    std::set<int> out(excluded, excluded + count);
    std::vector<int> rest;
    for (int r = 0; r < communicator.size; ++r) {
        if (out.count(r) == 0) rest.push_back(r);
    }
    return rest;
}

void drain(Communicator& communicator) {
    // Graphs that captured the communicator's operations may still launch them.
    while (communicator.captured.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    vendorRuntime().await(*communicator.order);
}

}  // namespace

MOCK_API ncclResult_t ncclGetUniqueId(ncclUniqueId* out) {
    if (out == nullptr) return fail(ncclInvalidArgument, "GetUniqueId : out argument is NULL");
    UniqueId id;
    Result created = Segment::createId(&id);
    if (created == Result::Ok) *out = format(id);
    return translate(created, "ncclGetUniqueId");
}

MOCK_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                             ncclConfig_t* config) {
    return inGroup(
        initialize(comm, size, parse(id), rank, vendorRuntime().currentDevice(), config, "ncclCommInitRankConfig"));
}

MOCK_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
    return inGroup(
        initialize(comm, size, parse(id), rank, vendorRuntime().currentDevice(), nullptr, "ncclCommInitRank"));
}

MOCK_API ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int ids, ncclUniqueId* list,
                                               ncclConfig_t* config) {
    if (ids < 1 || ids > size || list == nullptr)
        return inGroup(fail(ncclInvalidArgument, "improper usage of ncclCommInitRankScalable"));
    return inGroup(initialize(comm, size, parse(list[0]), rank, vendorRuntime().currentDevice(), config,
                              "ncclCommInitRankScalable"));
}

MOCK_API ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
    if (comms == nullptr || count < 1) return fail(ncclInvalidArgument, "CommInitAll : invalid arguments");
    std::set<int> used;
    for (int i = 0; i < count; ++i) {
        int index = devices == nullptr ? i : devices[i];
        if (index < 0 || index >= vendorRuntime().deviceCount())
            return fail(ncclInvalidArgument, "Invalid device requested");
        if (!used.insert(index).second) return fail(ncclInvalidUsage, "Duplicate GPU detected");
    }
    UniqueId id;
    if (Segment::createId(&id) != Result::Ok) return fail(ncclSystemError, "cannot create an id");
    ncclGroupStart();
    for (int i = 0; i < count; ++i) {
        inGroup(initialize(comms + i, count, id, i, devices == nullptr ? i : devices[i], nullptr, "ncclCommInitAll"));
    }
    return ncclGroupEnd();
}

MOCK_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
    if (color < NCCL_SPLIT_NOCOLOR)
        return inGroup(fail(ncclInvalidArgument, "color must be NCCL_SPLIT_NOCOLOR or not negative"));
    return inGroup(makeChild(comm, child, config, "ncclCommSplit",
                             [=](Communicator& parent, Communicator::Membership* membership) {
                                 return parent.split(color, key, allBut(parent, nullptr, 0), membership);
                             }));
}

MOCK_API ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* child, ncclConfig_t* config,
                                     int flags) {
    auto parent = find(comm);
    if (parent == nullptr) return inGroup(fail(ncclInvalidArgument, "CommShrink : comm argument is NULL"));
    bool valid = excluded != nullptr && count > 0 && count < parent->size;
    for (int i = 0; valid && i < count; ++i) {
        valid = excluded[i] >= 0 && excluded[i] < parent->size && excluded[i] != parent->rank;
    }
    if (!valid) return inGroup(fail(ncclInvalidArgument, "CommShrink : invalid list of excluded ranks"));
    std::vector<int> rest = allBut(*parent, excluded, count);
    if ((flags & NCCL_SHRINK_ABORT) != 0) parent->revoke();
    return inGroup(makeChild(
        comm, child, config, "ncclCommShrink",
        [=](Communicator& self, Communicator::Membership* membership) { return self.split(0, 0, rest, membership); }));
}

MOCK_API ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* out) {
    ncclResult_t ready = ensureReady(find(comm), "ncclCommGetUniqueId");
    return ready != ncclSuccess ? ready : ncclGetUniqueId(out);
}

MOCK_API ncclResult_t ncclCommGrow(ncclComm_t comm, int size, const ncclUniqueId* id, int rank, ncclComm_t* child,
                                   ncclConfig_t* config) {
    if (comm == nullptr) {
        if (id == nullptr) return inGroup(fail(ncclInvalidArgument, "CommGrow : a new rank needs the id"));
        return inGroup(
            initialize(child, size, parse(*id), rank, vendorRuntime().currentDevice(), config, "ncclCommGrow"));
    }
    auto parent = find(comm);
    if (rank != -1 || (parent != nullptr && size <= parent->size)) {
        return inGroup(fail(ncclInvalidArgument, "CommGrow : an existing rank passes -1 and a larger size"));
    }
    bool offers = id != nullptr;
    UniqueId offered = offers ? parse(*id) : UniqueId{};
    return inGroup(
        makeChild(comm, child, config, "ncclCommGrow", [=](Communicator& self, Communicator::Membership* membership) {
            membership->rank = self.rank;
            membership->size = size;
            return self.spreadId(offers ? &offered : nullptr, &membership->id);
        }));
}

MOCK_API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    auto communicator = find(comm);
    ncclResult_t ready = ensureReady(communicator, "ncclCommFinalize");
    if (ready != ncclSuccess) return inGroup(ready);
    if (communicator->isRevoked()) return inGroup(fail(ncclInvalidUsage, "CommFinalize : comm is revoked"));
    if (communicator->finalized.exchange(true))
        return inGroup(fail(ncclInvalidArgument, "CommFinalize : comm is already finalized"));
    return inGroup(translate(Group::current().add(Job{communicator,
                                                      [communicator] {
                                                          vendorRuntime().await(*communicator->order);
                                                          return Result::Ok;
                                                      }}),
                             "ncclCommFinalize"));
}

MOCK_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (comm == nullptr) return ncclSuccess;
    auto communicator = find(comm);
    if (communicator == nullptr || !retire(comm))
        return fail(ncclInvalidArgument, "CommDestroy : comm is no live communicator");
    while (communicator->inProgress) std::this_thread::sleep_for(std::chrono::microseconds(200));
    drain(*communicator);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (comm == nullptr) return ncclSuccess;
    auto communicator = find(comm);
    if (communicator == nullptr || !retire(comm))
        return fail(ncclInvalidArgument, "CommAbort : comm is no live communicator");
    communicator->abort();
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
    auto communicator = find(comm);
    if (communicator == nullptr || flags != 0) return fail(ncclInvalidArgument, "CommRevoke : invalid comm or flags");
    if (!communicator->ready) return fail(ncclInvalidUsage, "CommRevoke : comm is not initialized");
    communicator->revoke();
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    auto communicator = find(comm);
    if (communicator == nullptr || error == nullptr)
        return fail(ncclInvalidArgument, "ncclGetAsyncError : comm or asyncError argument is NULL");
    *error = asyncState(*communicator);
    return ncclSuccess;
}

namespace {

template <class Value>
ncclResult_t answer(ncclComm_t comm, int* out, const char* call, Value value) {
    auto communicator = find(comm);
    ncclResult_t ready = ensureReady(communicator, call);
    if (ready == ncclInvalidArgument || ready == ncclInProgress) return ready;
    if (out == nullptr) return fail(ncclInvalidArgument, "result argument is NULL");
    *out = value(*communicator);
    return ncclSuccess;
}

}  // namespace

MOCK_API ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
    return answer(comm, count, "CommCount", [](const Communicator& c) { return c.size; });
}

MOCK_API ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
    return answer(comm, device, "CommCuDevice", [](const Communicator& c) { return c.device; });
}

MOCK_API ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
    return answer(comm, rank, "CommUserRank", [](const Communicator& c) { return c.rank; });
}
