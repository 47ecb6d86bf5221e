#include "stream.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <sys/prctl.h>
#include <thread>

namespace mock {

using namespace std::chrono_literals;

namespace {
constexpr size_t queueLimit = 1024;
constexpr auto nap = 50us;
constexpr auto lostWakeUp = 10ms;
using Clock = std::chrono::steady_clock;
// Where others want the processor, a single yield can take the whole of their time slice.
constexpr auto yieldingAtMost = 200us;

// The largest random delay before an operation.
uint64_t delayLimit() {
    static const auto limit = static_cast<uint64_t>(setting("MOCK_DELAY_US", 0));
    return limit;
}

// A worker that has just been busy naps instead of sleeping: the caller then enqueues without a system call. Operations
// with delays measure nothing, and naps and yields would only take processor time.
int napsBeforeSleep() { return delayLimit() == 0 ? 40 : 0; }
int yieldsBeforeSleep() { return delayLimit() == 0 ? 20 : 0; }
}  // namespace

thread_local bool inHostFunction = false;

bool Position::reached() const { return stream == nullptr || stream->isReached(sequence); }

void Position::await() const {
    if (stream != nullptr) stream->await(sequence);
}

bool Position::await(int milliseconds) const {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    return stream == nullptr || stream->await(sequence, end);
}

Position Stream::push(Task task) {
    static const bool inlined = setting("MOCK_INLINE", 0) == 1;
    std::unique_lock<std::mutex> lock(mutex_);
    if (inlined) {
        // Nothing is ever queued, so the operations before this one have ended.
        uint64_t sequence = issued_.load(std::memory_order_relaxed) + 1;
        run(task, sequence);
        issued_.store(sequence, std::memory_order_release);
        finish(sequence);
        return {this, sequence};
    }
    if (!started_) {
        // Started on first use: a child of fork, or a stream nobody uses, needs no thread.
        started_ = true;
        std::thread([this] { work(); }).detach();
    }
    if (pending_.size() >= queueLimit) {
        wake_.notify_one();
        space_.wait(lock, [this] { return pending_.size() < queueLimit; });
    }
    pending_.push_back(std::move(task));
    uint64_t sequence = issued_.load(std::memory_order_relaxed) + 1;
    issued_.store(sequence, std::memory_order_release);
    bool wake = asleep_;
    lock.unlock();
    if (wake) wake_.notify_one();
    return {this, sequence};
}

void Stream::awaitRoom() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (pending_.size() < queueLimit) return;
    wake_.notify_one();
    space_.wait(lock, [this] { return pending_.size() < queueLimit; });
}

void Stream::pushWait(Position position) {
    if (position.stream == this || position.reached()) return;
    push([position] { position.await(); });
}

Position Stream::tail() { return {this, issued_.load(std::memory_order_acquire)}; }

void Stream::await(uint64_t sequence) { await(sequence, Clock::time_point::max()); }

bool Stream::await(uint64_t sequence, Clock::time_point end) {
    auto start = Clock::now();
    for (int i = 0; i < yieldsBeforeSleep() && Clock::now() - start < yieldingAtMost; ++i) {
        if (isReached(sequence)) return true;
        sched_yield();
    }
    wake_.notify_one();
    waiters_.fetch_add(1);
    {
        std::unique_lock<std::mutex> lock(doneMutex_);
        // The time limit only bounds the cost of a wake-up lost between a nap and the notification above.
        while (!isReached(sequence) && Clock::now() < end) done_.wait_until(lock, std::min(end, Clock::now() + lostWakeUp));
    }
    waiters_.fetch_sub(1);
    return isReached(sequence);
}

void Stream::close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    wake_.notify_one();
}

void Stream::work() {
    prctl(PR_SET_TIMERSLACK, 1000ul);
    static std::atomic<uint64_t> workers{0};
    Random random(++workers);
    std::vector<Task> batch;
    uint64_t sequence = completed_.load();
    for (;;) {
        {
            std::unique_lock<std::mutex> lock(mutex_);
            int naps = 0;
            while (pending_.empty()) {
                if (closed_) {
                    started_ = false;
                    return;
                }
                if (naps++ < napsBeforeSleep()) {
                    wake_.wait_for(lock, nap);
                } else {
                    asleep_ = true;
                    wake_.wait(lock);
                    asleep_ = false;
                }
            }
            batch.swap(pending_);
        }
        space_.notify_all();
        for (Task& task : batch) {
            pause(random);
            run(task, sequence + 1);
            // What the operation holds is let go before its end can be seen.
            task = nullptr;
            finish(++sequence);
        }
        batch.clear();
    }
}

void Stream::run(Task& task, uint64_t sequence) {
    if (!stopsOnError || error == 0) task();
    if (failedAt != 0 || error == 0) return;
    failedWith = error.load();
    failedAt = sequence;
}

void Stream::pause(Random& random) {
    // Every other operation has none, on average: streams are then now behind their caller, now up to it.
    uint64_t delay = delayLimit() == 0 ? 0 : random.next() % (2 * delayLimit());
    if (delay > 0 && delay <= delayLimit()) std::this_thread::sleep_for(std::chrono::microseconds(delay));
}

void Stream::finish(uint64_t sequence) {
    completed_.store(sequence);
    if (waiters_.load() == 0) return;
    // No waiter is between its check of completed_ and its sleep now. Notified under the lock, it would block on it.
    { std::lock_guard<std::mutex> lock(doneMutex_); }
    done_.notify_all();
}

}  // namespace mock
