#include "deferred.h"

#include <algorithm>

#include "communicator.h"

namespace jccl {

// Never destroyed: threads may still wait when the process ends.
Deferred& Deferred::ofProcess() {
  static auto& instance = *new Deferred();
  return instance;
}

void Deferred::add(Communicator& owner, Operation& operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({&owner, &operation});
  operation.deferred = true;
  count_++;
}

void Deferred::remove(Operation& operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(
      entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.operation == &operation; });
  if (found != entries_.end()) {
    entries_.erase(found);
    operation.deferred = false;
    count_--;
  }
}

bool Deferred::holdsCollectiveOf(const Communicator& owner) {
  if (count_ == 0) {
    return false;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.owner == &owner && !entry.isReceive();
  });
}

// Collectives have one order, and so have receives that the same message could match.
bool Deferred::mustWait(size_t index) const {
  const Entry& later = entries_[index];
  return std::any_of(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(index), [&](const Entry& earlier) {
    if (earlier.owner != later.owner || earlier.isReceive() != later.isReceive()) {
      return false;
    }
    const Operation& a = *earlier.operation;
    const Operation& b = *later.operation;
    return !later.isReceive() || (a.tag == b.tag && (a.peer == b.peer || a.peer < 0 || b.peer < 0));
  });
}

void Deferred::advanceAll() {
  std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return;
  }
  for (size_t i = 0; i < entries_.size();) {
    const Entry entry = entries_[i];
    if (!mustWait(i) && entry.owner->issueIfReady(*entry.operation)) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      count_--;
      entry.operation->deferred = false;  // from here on it may be gone
    } else {
      i++;
    }
  }
}

}  // namespace jccl
