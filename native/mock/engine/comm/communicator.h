// One rank of a communicator.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "../runtime/link.h"
#include "segment.h"
#include "types.h"

namespace mock {

struct Settings {
    bool blocking = true;
    /** A send ends when its receiver has taken all of it. */
    bool rendezvous = false;
    /** The number of the device on its host, when it differs from the process's own. */
    int physicalDevice = -1;
    /** How long a communicator that forms waits for the other ranks; 0 without a limit. */
    long meetingSeconds = 0;
};

class Communicator {
public:
    Communicator(int size, int rank, int device, Settings settings);

    /** Meets the other ranks of the id; blocks until all are there, the time is over or this one is aborted. */
    Result initialize(const UniqueId& id);

    /** This rank's place in a new communicator; no rank when it has none. */
    struct Membership {
        int rank = -1;
        int size = 0;
        UniqueId id{};
    };
    /** Ranks of one color, ordered by key, share a new communicator. */
    Result split(int color, int key, Membership* membership);

    /** Members of a subset share a new id: its first one calls invite, the others accept, with the same key. */
    Result invite(uint64_t key, int others, UniqueId* id);
    Result accept(uint64_t key, UniqueId* id);

    /**
     * The first collective, and the first message between two ranks, meet their peers before they are enqueued. The
     * variable PREFIX_CONNECT says for how many milliseconds they wait: 0 for not at all, -1 for without a limit.
     */
    Result connect(const std::vector<Operation>& operations);

    int physicalDeviceOf(int peer) { return segment_->seat(peer).device; }

    /** Releases whatever is stuck; nothing more runs. */
    void abort();
    /**
     * Releases whatever is stuck until the device and the threads that wait inside have come to an end, and what is begun
     * later not.
     */
    void revoke();
    bool isRevoked() const { return revoked_; }
    bool isStopped() const { return aborted_ || revoking_; }

    /** Runs on a stream's worker. */
    void run(const std::vector<Operation>& operations);

    void reportAsync(Result result);
    /** The front's own code for an injected asynchronous error, or 0. */
    int asyncCode() const { return asyncCode_; }
    Result asyncResult() const { return asyncResult_; }

    const int size;
    const int rank;
    const int device;
    const Settings settings;
    const std::shared_ptr<Order> order = std::make_shared<Order>();
    std::atomic<bool> inProgress{false};
    std::atomic<bool> ready{false};
    std::atomic<bool> finalized{false};
    /** A job was begun that nobody has asked about since it ended. */
    std::atomic<bool> job{false};
    /** A thread asks about the job. */
    std::atomic<bool> asked{false};
    /** The vendor's calls that threads are inside of. */
    std::atomic<int> inside{0};
    /** The vendor's memory of it is gone, though this object stays for as long as something holds it. */
    std::atomic<bool> freed{false};
    /** A rank of this one's host with the same device, found when the communicator was formed; -1 without. */
    int sharesDeviceWith = -1;
    /** Graphs hold operations of this communicator. */
    std::atomic<int> captured{0};

    /** Custom reductions; an empty place is a destroyed one. */
    struct CustomOp {
        bool live;
        DataType type;
        Reduction reduction;
    };
    std::mutex opsMutex;
    std::vector<CustomOp> ops;

private:
    friend class Exchange;
    friend class Collective;
    Result check();
    /** Whether a thread that waits inside must leave. */
    bool isReleased() const;
    Result awaitAll(const std::function<bool()>& condition);
    void hang();
    void execute(const Operation& operation);
    void executePointToPoint(const std::vector<const Operation*>& operations);

    std::unique_ptr<Segment> segment_;
    std::atomic<bool> aborted_{false};
    std::atomic<bool> revoked_{false};
    std::atomic<bool> revoking_{false};
    /** Threads that wait inside a call. */
    std::atomic<int> waiting_{0};
    std::atomic<Result> asyncResult_{Result::Ok};
    std::atomic<int> asyncCode_{0};
    std::mutex running_;
    std::mutex noticeMutex_;
    uint64_t notices_ = 0;
    uint64_t executed_ = 0;
};

/** A thread inside a call. A communicator that was freed meanwhile, or before, ends the process. */
class Inside {
public:
    explicit Inside(std::shared_ptr<Communicator> communicator);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

private:
    std::shared_ptr<Communicator> communicator_;
};

}  // namespace mock
