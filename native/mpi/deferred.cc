#include "deferred.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "communicator.h"
#include "progress.h"

namespace jccl {

namespace {

constexpr std::chrono::microseconds kLook(50);

// The thread of Deferred::Meanwhile. It calls the library under the mutex only, so that it has left it when nobody is
// helped any more.
class Helper {
 public:
  void begin() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!started_) {
      startWithoutSignals([this] { help(); }).detach();
      started_ = true;
    }
    helped_++;
    wanted_.notify_one();
  }

  void end() {
    std::lock_guard<std::mutex> lock(mutex_);
    helped_--;
  }

 private:
  void help() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      wanted_.wait(lock, [this] { return helped_ > 0; });
      try {
        Deferred::ofProcess().advance();
      } catch (...) {
        // Out of memory while a failure was noted; whoever waits for the message tries it again.
      }
      lock.unlock();
      std::this_thread::sleep_for(kLook);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  int helped_ = 0;
  bool started_ = false;
};

// Never destroyed: its thread may still wait when the process ends.
Helper& helper() {
  static auto& instance = *new Helper();
  return instance;
}

// Returns false where no thread can be had: then the watchdog alone brings receives forward.
bool beginHelp() {
  if (Deferred::ofProcess().isEmpty()) {
    return false;
  }
  try {
    helper().begin();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Deferred::Meanwhile::Meanwhile() : helped_(beginHelp()) {}

Deferred::Meanwhile::~Meanwhile() {
  if (helped_) {
    helper().end();
  }
}

// Never destroyed: threads may still wait when the process ends.
Deferred& Deferred::ofProcess() {
  static auto& instance = *new Deferred();
  return instance;
}

void Deferred::add(Communicator& owner, Message& message) {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({&owner, &message});
  message.deferred = true;
  count_++;
}

void Deferred::remove(Message& message) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.message == &message; });
  if (found != entries_.end()) {
    entries_.erase(found);
    message.deferred = false;
    count_--;
  }
}

// Receives that the same message could match have an order.
bool Deferred::mustWait(size_t index) const {
  const Entry& later = entries_[index];
  return std::any_of(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(index), [&](const Entry& earlier) {
    const Message& a = *earlier.message;
    const Message& b = *later.message;
    return earlier.owner == later.owner && a.tag == b.tag && (a.peer == b.peer || a.peer < 0 || b.peer < 0);
  });
}

void Deferred::advanceAll() {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return;
  }
  for (size_t i = 0; i < entries_.size();) {
    const Entry entry = entries_[i];
    if (!mustWait(i) && entry.owner->issueIfReady(*entry.message)) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      count_--;
      entry.message->deferred = false;  // from here on it may be gone
    } else {
      i++;
    }
  }
}

}  // namespace jccl
