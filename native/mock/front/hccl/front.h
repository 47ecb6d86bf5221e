// What the parts of the HCCL front share: communicators, thread rules and errors.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "../../engine/comm/group.h"
#include "../../engine/comm/vendor.h"
#include "functions.h"

namespace mock::hccl {

struct Comm {
    std::shared_ptr<Communicator> ranks;
    std::string name;
    /** Made from a root info or a rank table: only such ones have sub-communicators. */
    bool isGlobal = true;
    int server = 0;
    /** Destroy calls that still answer AGAIN. */
    std::atomic<long> busy{0};
    /** Threads that issue an operation. */
    std::atomic<int> issuing{0};
    /** One element on the device, for barriers. */
    void* token = nullptr;
    /** Of each of its two buffers, which the first operation makes. */
    size_t bufferBytes = 0;
    std::mutex buffersMutex;
    bool hasBuffers = false;
};

/** Keeps the text for aclGetRecentErrMsg. */
[[gnu::format(printf, 2, 3)]] HcclResult fail(HcclResult code, const char* format, ...);
HcclResult translate(Result result, const char* call);

/** The device of the thread; -1 after reporting that there is none. */
int threadDevice(const char* call);
/** Init and destroy calls note which device their thread is on, others insist that it is still the same. */
void noteThreadDevice(int device);

/** A live handle's object; ends the process for anything else, as the real library would crash. */
std::shared_ptr<Comm> find(const char* call, HcclComm handle);
/** The checks every call on a communicator starts with. */
HcclResult enter(const char* call, HcclComm handle, std::shared_ptr<Comm>* comm);

HcclComm publish(std::shared_ptr<Comm> comm);
bool retire(HcclComm handle);
/** The live communicator of a name on a device, or null. */
HcclComm named(int device, const std::string& name);

/** Remembers for mockHcclCalled that a function was called. */
void noteCall(const char* call);

/** What a caller's configuration comes to; null is the defaults. */
struct Options {
    std::string name;
    /** The server this rank is on by its rank table. */
    int server = 0;
    /** Size of each buffer: of the configuration, else of HCCL_BUFFSIZE, else HCCL's own. */
    uint32_t bufferMegabytes = 200;
};
HcclResult readConfig(const char* call, const HcclCommConfig* config, Options* options);

/**
 * A communicator that is being formed by this thread. Before 8.1 the manual forbids a second one at the same time in the
 * process, since then one on the same device; either ends the process.
 */
class Forming {
public:
    Forming(const char* call, int device);
    ~Forming();
    Forming(const Forming&) = delete;
    Forming& operator=(const Forming&) = delete;

private:
    const int device_;
};

/** Makes the communicator's buffers; the real library's code, and its silence, when there is no memory for them. */
HcclResult makeBuffers(Comm& comm);

/** Meets the other ranks and publishes the communicator. */
HcclResult join(const char* call, uint32_t size, uint32_t rank, int device, const UniqueId& id, const Options& options,
                bool global, HcclComm* handle);

}  // namespace mock::hccl
