#include "communicator.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>

#include "faults.h"
#include "vendor.h"

namespace mock {

namespace {

/** As much as the search of a large machine's topology takes of the calling thread's stack. */
__attribute__((noinline)) void touchStack() {
    volatile char room[1536 * 1024];
    for (size_t at = sizeof room; at >= 4096; at -= 4096) room[at - 1] = 1;
}

bool isOn(const char* fault) { return setting((std::string(vendor().prefix) + fault).c_str(), 0) == 1; }

/** The threads that wait inside never see a revoke, which the library takes back as soon as the device is done. */
bool revokesAreMissed() {
    static const bool missed = isOn("_REVOKE_MISSED");
    return missed;
}

class Counted {
public:
    explicit Counted(std::atomic<int>& counter) : counter_(counter) { counter_.fetch_add(1); }
    ~Counted() { counter_.fetch_sub(1); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

private:
    std::atomic<int>& counter_;
};

}  // namespace

Communicator::Communicator(int n, int r, int d, Settings s) : size(n), rank(r), device(d), settings(s) {}

bool Communicator::isReleased() const { return aborted_ || (revoking_ && !revokesAreMissed()); }

Result Communicator::awaitAll(const std::function<bool()>& condition) {
    Counted counted(waiting_);
    for (PollingPause pause; !condition(); pause()) {
        if (isReleased()) return Result::Internal;
    }
    return Result::Ok;
}

Result Communicator::initialize(const UniqueId& id) {
    touchStack();
    static const long milliseconds = setting("MOCK_INIT_MS", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    Result opened = Segment::open(id, rank, size, &segment_);
    if (opened != Result::Ok) return opened;
    Seat& own = segment_->seat(rank);
    own.process = getpid();
    own.device = settings.physicalDevice >= 0 ? settings.physicalDevice : device;
    own.version = vendor().version;
    own.host = vendor().host;
    own.ready = 1;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(settings.meetingSeconds);
    bool isLate = false;
    Result met = awaitAll([&] {
        isLate = settings.meetingSeconds > 0 && std::chrono::steady_clock::now() > end;
        for (int r = 0; r < size && !isLate; ++r) {
            if (segment_->seat(r).ready.load() == 0) return false;
        }
        return true;
    });
    if (met != Result::Ok) return met;
    if (isLate) return Result::Timeout;
    Segment::forget(id);
    Result checked = check();
    if (checked == Result::Ok) ready = true;
    return checked;
}

Result Communicator::check() {
    for (int a = 0; a < size; ++a) {
        Seat& one = segment_->seat(a);
        if (one.version != vendor().version) return Result::InvalidUsage;
        for (int b = a + 1; b < size && !vendor().sharesDevices; ++b) {
            Seat& other = segment_->seat(b);
            if (one.host == other.host && one.device == other.device) {
                if (a == rank || b == rank) sharesDeviceWith = a == rank ? b : a;
                return Result::InvalidUsage;
            }
        }
    }
    return Result::Ok;
}

Result Communicator::split(int color, int key, Membership* membership) {
    touchStack();
    std::lock_guard<std::mutex> lock(noticeMutex_);
    uint64_t sequence = ++notices_;
    auto notice = [&](int r) -> Notice& { return segment_->seat(r).notices[sequence % 2]; };
    Notice& own = notice(rank);
    own.color = color;
    own.key = key;
    own.sequence = sequence;
    Result met = awaitAll([&] {
        for (int r = 0; r < size; ++r) {
            if (notice(r).sequence.load() != sequence) return false;
        }
        return true;
    });
    if (met != Result::Ok || color < 0) return met;
    std::vector<std::pair<int, int>> members;
    for (int r = 0; r < size; ++r) {
        if (notice(r).color == color) members.emplace_back(notice(r).key, r);
    }
    std::sort(members.begin(), members.end());
    int leader = members.front().second;
    if (leader == rank) {
        Result created = Segment::createId(&own.id);
        if (created != Result::Ok) return created;
        own.idSequence = sequence;
    }
    met = awaitAll([&] { return notice(leader).idSequence.load() == sequence; });
    if (met != Result::Ok) return met;
    membership->id = notice(leader).id;
    membership->size = static_cast<int>(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
        if (members[i].second == rank) membership->rank = static_cast<int>(i);
    }
    return Result::Ok;
}

Result Communicator::invite(uint64_t key, int others, UniqueId* id) {
    Result created = Segment::createId(id);
    if (created != Result::Ok || others == 0) return created;
    return awaitAll([&] { return segment_->post(key, others, *id); });
}

Result Communicator::accept(uint64_t key, UniqueId* id) {
    return awaitAll([&] { return segment_->collect(key, id); });
}

Result Communicator::connect(const std::vector<Operation>& operations) {
    static const long limit =
        setting((std::string(vendor().prefix) + "_CONNECT").c_str(), vendor().connectMilliseconds);
    if (limit == 0) return Result::Ok;
    for (const Operation& operation : operations) {
        if (operation.kind == Kind::Send) segment_->ring(rank, operation.root).sends = 1;
        if (operation.kind == Kind::Receive) segment_->ring(operation.root, rank).receives = 1;
        if (!isPointToPoint(operation.kind)) segment_->seat(rank).linked = 1;
    }
    auto isLinked = [this](const Operation& operation) {
        if (operation.kind == Kind::Send) return segment_->ring(rank, operation.root).receives != 0;
        if (operation.kind == Kind::Receive) return segment_->ring(operation.root, rank).sends != 0;
        for (int r = 0; r < size; ++r) {
            if (segment_->seat(r).linked == 0) return false;
        }
        return true;
    };
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit);
    Counted counted(waiting_);
    for (PollingPause pause; !std::all_of(operations.begin(), operations.end(), isLinked); pause()) {
        if (isReleased()) return Result::Internal;
        if (limit > 0 && std::chrono::steady_clock::now() > end) return Result::Timeout;
    }
    return Result::Ok;
}

void Communicator::abort() {
    aborted_ = true;
    if (ready) segment_->ringBell(rank);
    // What runs now sees the flag and leaves; what is queued will see it before it starts.
    std::lock_guard<std::mutex> lock(running_);
}

void Communicator::revoke() {
    static const bool hangs = isOn("_REVOKE_HANG");
    revoked_ = true;
    revoking_ = true;
    if (ready) segment_->ringBell(rank);
    vendorRuntime().awaitDevice(device);
    // The library ends threads of its own here. A thread that waits inside has seen the flag by then, or never does.
    for (PollingPause pause; waiting_ > 0 && !revokesAreMissed(); pause()) {}
    while (hangs) std::this_thread::sleep_for(std::chrono::seconds(1));
    revoking_ = false;
}

void Communicator::reportAsync(Result result) {
    Result none = Result::Ok;
    asyncResult_.compare_exchange_strong(none, result);
}

void Communicator::hang() {
    while (!isStopped()) segment_->sleep(rank, segment_->seat(rank).bell.load());
}

void Communicator::run(const std::vector<Operation>& operations) {
    if (freed) fatal("an operation of a communicator that was freed");
    std::lock_guard<std::mutex> lock(running_);
    delayIfSlow(rank);
    std::vector<const Operation*> pointToPoint;
    for (const Operation& operation : operations) {
        if (isStopped()) return;
        if (operation.fault == Fault::AsyncError) asyncCode_ = asyncFaultCode();
        if (operation.fault != Fault::None) hang();
        if (isPointToPoint(operation.kind)) {
            pointToPoint.push_back(&operation);
        } else {
            execute(operation);
        }
    }
    if (!pointToPoint.empty() && !isStopped()) executePointToPoint(pointToPoint);
}

Inside::Inside(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {
    communicator_->inside.fetch_add(1);
    if (communicator_->freed) fatal("a call on a communicator that was freed");
}

Inside::~Inside() {
    if (communicator_->freed) fatal("a communicator was freed while a thread was inside");
    communicator_->inside.fetch_sub(1);
}

}  // namespace mock
