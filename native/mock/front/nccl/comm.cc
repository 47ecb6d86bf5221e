// Making, dividing and ending communicators, and their memory.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "front.h"

using namespace mock;
using namespace mock::nccl;

namespace {

constexpr int sinceRevoke = 22807;

/** Graphs that captured the communicator's operations may still launch them. */
void awaitGraphs(const Communicator& communicator) {
    for (PollingPause pause; communicator.captured > 0; pause()) {}
}

/** Memory of ncclMemAlloc, and what is registered with which communicator. */
struct Registrations {
    struct One {
        const Communicator* communicator;
        bool window;
        const char* begin;
        const char* end;
    };
    std::mutex mutex;
    std::map<const char*, size_t> memory;
    std::map<const void*, One> live;
    long made = 0, removed = 0, ended = 0;

    static Registrations& get() {
        static auto* one = [] {
            if (setting("MOCK_NCCL_PRINT_REGISTRATIONS", 0) == 1) std::atexit([] { get().print(); });
            return new Registrations();
        }();
        return *one;
    }

    void print() {
        std::lock_guard<std::mutex> lock(mutex);
        std::fprintf(stderr, "registrations: %ld made, %ld removed, %ld ended with a communicator, %zu left; %zu blocks left\n",
                     made, removed, ended, live.size(), memory.size());
    }

    bool isAllocated(const char* begin, size_t bytes) {
        auto after = memory.upper_bound(begin);
        if (after == memory.begin()) return false;
        const auto& [from, size] = *std::prev(after);
        return begin + bytes <= from + size;
    }

    void* add(const Communicator* communicator, bool window, const void* buffer, size_t bytes) {
        std::lock_guard<std::mutex> lock(mutex);
        auto begin = static_cast<const char*>(buffer);
        void* handle = new char;
        live[handle] = One{communicator, window, begin, begin + bytes};
        made++;
        return handle;
    }

    /** A handle is of one communicator, and is given back once. */
    void remove(const Communicator* communicator, bool window, const void* handle) {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = live.find(handle);
        if (found == live.end() || found->second.communicator != communicator || found->second.window != window)
            fatal("a registration is removed that this communicator does not have");
        live.erase(found);
        removed++;
    }

    /** The library removes what is left when the communicator ends. */
    void end(const Communicator* communicator) {
        std::lock_guard<std::mutex> lock(mutex);
        for (auto each = live.begin(); each != live.end();) {
            if (each->second.communicator == communicator) {
                each = live.erase(each);
                ended++;
            } else {
                ++each;
            }
        }
    }

    void free(const void* address) {
        std::lock_guard<std::mutex> lock(mutex);
        auto block = memory.find(static_cast<const char*>(address));
        if (block == memory.end()) return;
        for (const auto& [handle, one] : live) {
            if (one.begin < block->first + block->second && one.end > block->first)
                fatal("ncclMemFree of memory that is registered with a communicator");
        }
        memory.erase(block);
    }
};

/** Checks a configuration as the library does; null means the defaults, or the parent's settings. */
ncclResult_t parseConfig(const ncclConfig_t* config, Settings* settings) {
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
    if (own.size < offsetof(ncclConfig_t, nChannelsPerNetPeer) || vendor().version < 22700) return ncclSuccess;
    if (own.collnetEnable != undefined && own.collnetEnable != 0 && own.collnetEnable != 1)
        return fail(ncclInvalidArgument, "Invalid config collnetEnable attribute value");
    if (own.CTAPolicy != undefined && (own.CTAPolicy < 0 || own.CTAPolicy > 3))
        return fail(ncclInvalidArgument, "Invalid config policy attribute value");
    if (own.nvlsCTAs != undefined && own.nvlsCTAs <= 0)
        return fail(ncclInvalidArgument, "Invalid config nvlsCTAs attribute value");
    if (setting("MOCK_NCCL_PRINT_CONFIG", 0) == 1)
        std::fprintf(stderr, "commName %s, collnetEnable %d, CTAPolicy %d, nvlsCTAs %d\n",
                     own.commName == nullptr ? "null" : own.commName, own.collnetEnable, own.CTAPolicy, own.nvlsCTAs);
    return ncclSuccess;
}

ncclResult_t readConfig(const ncclConfig_t* config, Settings* settings) {
    ncclResult_t parsed = parseConfig(config, settings);
    long blocking = setting("NCCL_COMM_BLOCKING", -1);
    if (blocking == 0 || blocking == 1) settings->blocking = blocking == 1;
    return parsed;
}

/** The names that a job reads in its caller's memory, at its end too: whoever frees one before ends the process. */
class Names {
public:
    explicit Names(const ncclConfig_t* config) {
        if (config != nullptr && config->size > offsetof(ncclConfig_t, splitShare)) add(config->netName);
        if (config != nullptr && config->size > offsetof(ncclConfig_t, collnetEnable)) add(config->commName);
    }

    void readAgain() const {
        for (const auto& [text, seen] : seen_) {
            if (seen != text) fatal("a name in a ncclConfig_t was freed while a job is under way");
        }
    }

private:
    void add(const char* text) {
        if (text != nullptr) seen_.emplace_back(text, text);
    }

    std::vector<std::pair<const char*, std::string>> seen_;
};

/** Before it, devices with one bus id are one, as the slices of a GPU are. */
constexpr int uuidVersion = 23007;

/** The job of forming a communicator. What it finds wrong it says in NCCL's own words. */
Result form(Communicator& communicator, const UniqueId& id) {
    if (setting("MOCK_NCCL_SHM_FULL", 0) == 1) {
        say("Error while creating shared memory segment /dev/shm/nccl-m0ckED (size 33030528), error: "
            "No space left on device (28)");
        return Result::System;
    }
    Result formed = communicator.initialize(id);
    int other = communicator.sharesDeviceWith;
    if (other >= 0 && vendor().version >= uuidVersion) {
        say("Multiple Ranks are using the same GPU/Partition : rank " + std::to_string(communicator.rank) +
            " and rank " + std::to_string(other));
    } else if (other >= 0) {
        say("Duplicate GPU detected : rank " + std::to_string(communicator.rank) + " and rank " +
            std::to_string(other) + " both on CUDA device 1b000");
    }
    return formed;
}

ncclResult_t initialize(ncclComm_t* handle, int size, const ncclUniqueId& id, int rank,
                        const ncclConfig_t* config, const char* call) {
    if (handle == nullptr) return fail(ncclInvalidArgument, "CommInitRank : comm argument is NULL");
    *handle = nullptr;
    // NCCL carries a runtime of its own.
    if (setting("MOCK_CUDA_DRIVER", 13000) / 1000 < setting("MOCK_NCCL_CUDA", 0) / 1000)
        return fail(ncclUnhandledCudaError,
                    "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'");
    if (vendorRuntime().deviceCount() == 0)
        return fail(ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    if (size < 1 || rank < 0 || rank >= size) return fail(ncclInvalidArgument, "Invalid rank requested");
    if (setting("MOCK_NCCL_MEMORY_FULL", -1) == rank)
        return fail(ncclUnhandledCudaError, "Failed to CUDA calloc 4194304 bytes");
    Settings settings;
    ncclResult_t read = readConfig(config, &settings);
    if (read != ncclSuccess) return read;
    if (setting("MOCK_MIG", 0) == 1 && vendor().version < uuidVersion) settings.physicalDevice = 0;
    auto communicator = std::make_shared<Communicator>(size, rank, vendorRuntime().currentDevice(), settings);
    *handle = publish(communicator);
    UniqueId parsed;
    std::memcpy(&parsed, id.internal, sizeof parsed);
    Result result =
        Group::current().add(Job{communicator, [communicator, parsed, names = Names(config)] {
            Result formed = form(*communicator, parsed);
            names.readAgain();
            return formed;
        }});
    if (result != Result::Ok && result != Result::InProgress) {
        retire(*handle, communicator);
        *handle = nullptr;
    }
    return translate(result, call);
}

}  // namespace

MOCK_API ncclResult_t ncclGetUniqueId(ncclUniqueId* out) {
    if (out == nullptr) return fail(ncclInvalidArgument, "GetUniqueId : out argument is NULL");
    UniqueId id;
    Result created = Segment::createId(&id);
    if (created == Result::Ok) {
        *out = {};
        std::memcpy(out->internal, &id, sizeof id);
    }
    return translate(created, "ncclGetUniqueId");
}

MOCK_API ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                             ncclConfig_t* config) {
    return inGroup(initialize(comm, size, id, rank, config, "ncclCommInitRankConfig"));
}

MOCK_API ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
    return inGroup(initialize(comm, size, id, rank, nullptr, "ncclCommInitRank"));
}

/** The ranks of the mock meet by the first id, however many there are. */
MOCK_API ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int count, ncclUniqueId* ids,
                                               ncclConfig_t* config) {
    const char* call = "ncclCommInitRankScalable";
    if (ids == nullptr) return inGroup(fail(ncclInvalidArgument, "CommInitRank : commId argument is NULL"));
    if (count < 1 || count > size) return inGroup(fail(ncclInvalidArgument, "Invalid number of unique ids requested"));
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            if (std::memcmp(&ids[i], &ids[j], sizeof ids[i]) == 0)
                return inGroup(fail(ncclInvalidArgument, "the same unique id is given twice"));
        }
    }
    return inGroup(initialize(comm, size, ids[0], rank, config, call));
}

MOCK_API ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child, ncclConfig_t* config) {
    const char* call = "ncclCommSplit";
    if (color < NCCL_SPLIT_NOCOLOR)
        return inGroup(fail(ncclInvalidArgument, "color must be NCCL_SPLIT_NOCOLOR or not negative"));
    auto parent = find(comm);
    Visit visit(parent);
    ncclResult_t ready = ensureReady(parent, call);
    if (ready != ncclSuccess) return inGroup(ready);
    if (child == nullptr) return inGroup(fail(ncclInvalidArgument, "newcomm argument is NULL"));
    *child = nullptr;
    Settings settings = parent->settings;
    ncclResult_t read = readConfig(config, &settings);
    if (read != ncclSuccess) return inGroup(read);
    Names names(config);
    auto divide = [=] {
        Communicator::Membership membership;
        Result divided = parent->split(color, key, &membership);
        if (divided != Result::Ok && color < 0)
            fatal("the split of a rank without a color failed, and NCCL writes that to a communicator that does not exist");
        if (divided != Result::Ok || membership.rank < 0) {
            names.readAgain();
            return divided;
        }
        auto made = std::make_shared<Communicator>(membership.size, membership.rank, parent->device, settings);
        Result met = made->initialize(membership.id);
        names.readAgain();
        if (met == Result::Ok) *child = publish(made);
        return met;
    };
    Result result = Group::current().add(Job{parent, divide});
    // The library answers so although the job of a communicator that does not block is still to write the handle.
    return result == Result::InProgress ? ncclSuccess : inGroup(translate(result, call));
}

MOCK_API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    auto communicator = find(comm);
    Visit visit(communicator);
    ncclResult_t ready = ensureReady(communicator, "ncclCommFinalize");
    if (ready != ncclSuccess) return inGroup(ready);
    if (communicator->isRevoked() || communicator->finalized.exchange(true))
        return inGroup(fail(ncclInvalidArgument, "CommFinalize : comm is already finalized or revoked"));
    auto drain = [communicator] {
        vendorRuntime().await(*communicator->order);
        awaitGraphs(*communicator);
        return Result::Ok;
    };
    return inGroup(translate(Group::current().add(Job{communicator, drain}), "ncclCommFinalize"));
}

MOCK_API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (comm == nullptr) return ncclSuccess;
    auto communicator = find(comm);
    ncclResult_t ready = ensureReady(communicator, "ncclCommDestroy");
    if (ready != ncclSuccess) return ready;
    if (!communicator->finalized) {
        vendorRuntime().await(*communicator->order);
        awaitGraphs(*communicator);
    }
    Registrations::get().end(communicator.get());
    retire(comm, communicator);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommRegister(ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
    auto communicator = find(comm);
    if (communicator == nullptr || buffer == nullptr || bytes == 0 || handle == nullptr)
        return fail(ncclInvalidArgument, "ncclCommRegister : an argument is NULL");
    Visit visit(communicator);
    *handle = Registrations::get().add(communicator.get(), false, buffer, bytes);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle) {
    auto communicator = find(comm);
    Visit visit(communicator);
    if (handle != nullptr) Registrations::get().remove(communicator.get(), false, handle);
    return ncclSuccess;
}

/** All ranks meet. The library takes memory of its own allocator only. */
MOCK_API ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes, void** window, int flags) {
    const char* call = "ncclCommWindowRegister";
    auto communicator = find(comm);
    Visit visit(communicator);
    ncclResult_t ready = ensureReady(communicator, call);
    if (ready != ncclSuccess) return inGroup(ready);
    if (buffer == nullptr || bytes == 0 || window == nullptr || flags != 1)
        return inGroup(fail(ncclInvalidArgument, "ncclCommWindowRegister : an argument is invalid"));
    *window = nullptr;
    {
        Registrations& all = Registrations::get();
        std::lock_guard<std::mutex> lock(all.mutex);
        if (!all.isAllocated(static_cast<const char*>(buffer), bytes))
            return inGroup(fail(ncclUnhandledCudaError, "Cuda failure 1 'invalid argument'"));
    }
    auto meet = [=] {
        Communicator::Membership membership;
        Result met = communicator->split(0, communicator->rank, &membership);
        if (met == Result::Ok) *window = Registrations::get().add(communicator.get(), true, buffer, bytes);
        return met;
    };
    return inGroup(translate(Group::current().add(Job{communicator, meet}), call));
}

MOCK_API ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, void* window) {
    auto communicator = find(comm);
    Visit visit(communicator);
    if (window != nullptr) Registrations::get().remove(communicator.get(), true, window);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommAbort(ncclComm_t comm) {
    if (comm == nullptr) return ncclSuccess;
    auto communicator = find(comm);
    // Without ncclCommRevoke nothing else gets a thread out; it then has as long as this takes.
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(vendor().version < sinceRevoke ? 1 : 0);
    if (vendor().version >= sinceRevoke && communicator->inside > 0) fatal("ncclCommAbort while a thread is inside");
    communicator->abort();
    for (PollingPause pause; communicator->inProgress; pause()) {}
    if (!communicator->finalized && !communicator->isRevoked()) awaitGraphs(*communicator);
    for (PollingPause pause; communicator->inside > 0 && std::chrono::steady_clock::now() < end; pause()) {}
    // It frees memory of the device, which waits for all that runs there, also of other communicators.
    vendorRuntime().awaitDevice(communicator->device);
    Registrations::get().end(communicator.get());
    retire(comm, communicator);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
    if (comm == nullptr) return ncclSuccess;
    auto communicator = find(comm);
    Visit visit(communicator);
    if (flags != 0) return inGroup(fail(ncclInvalidArgument, "CommRevoke : invalid flags"));
    if (communicator->finalized || communicator->isRevoked())
        return inGroup(fail(ncclInvalidArgument, "CommRevoke : comm is finalized or revoked"));
    if (communicator->job) fatal("ncclCommRevoke while a job is under way frees the job");
    auto revoke = [communicator] {
        communicator->revoke();
        return Result::Ok;
    };
    return inGroup(translate(Group::current().add(Job{communicator, revoke}), "ncclCommRevoke"));
}

MOCK_API ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    auto communicator = find(comm);
    if (communicator == nullptr || error == nullptr)
        return fail(ncclInvalidArgument, "ncclGetAsyncError : comm or asyncError argument is NULL");
    Visit visit(communicator);
    *error = askState(*communicator);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclMemAlloc(void** address, size_t bytes) {
    if (address == nullptr || bytes == 0) return fail(ncclInvalidArgument, "ncclMemAlloc : invalid argument");
    // NCCL carries a runtime of its own.
    if (setting("MOCK_CUDA_DRIVER", 13000) / 1000 < setting("MOCK_NCCL_CUDA", 0) / 1000)
        return fail(ncclUnhandledCudaError,
                    "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'");
    if (vendorRuntime().deviceCount() == 0)
        return fail(ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    Status status = vendorRuntime().allocate(address, bytes);
    if (status == Status::Ok) {
        std::lock_guard<std::mutex> lock(Registrations::get().mutex);
        Registrations::get().memory[static_cast<const char*>(*address)] = bytes;
    }
    return status == Status::Ok ? ncclSuccess : fail(ncclUnhandledCudaError, "Cuda failure 'out of memory'");
}

MOCK_API ncclResult_t ncclMemFree(void* address) {
    if (address == nullptr) return ncclSuccess;
    Registrations::get().free(address);
    Status status = vendorRuntime().release(address);
    return status == Status::Ok ? ncclSuccess : fail(ncclUnhandledCudaError, "Cuda failure 'invalid argument'");
}
