// The operations of one communicator, reused since their vectors keep their memory.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "operation.h"

namespace jccl {

class OperationPool {
 public:
  OperationPool();

  // What was taken and not given back stays: the library may still use it.
  ~OperationPool();

  OperationPool(const OperationPool&) = delete;
  OperationPool& operator=(const OperationPool&) = delete;

  Operation* take() {
    Operation* operation = spare_.exchange(nullptr);
    return operation != nullptr ? operation : takeAnother();
  }

  // For a collective that its caller waits for. A group has one at a time, so this needs no atomic exchange, which would
  // be a tenth of what a short call costs.
  Operation* takeWaitedFor() {
    // Acquires what the thread that had it before has written, see giveBack().
    if (waitedForIsTaken_.load(std::memory_order_acquire)) {
      return take();  // it was given up, and the library still has it
    }
    waitedForIsTaken_.store(true, std::memory_order_relaxed);
    // Only the compiler is kept from moving later loads before it; for processors see settle().
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return waitedFor_;
  }

  void giveBack(Operation* operation) {
    if (operation == waitedFor_) {
      waitedForIsTaken_.store(false, std::memory_order_release);
      return;
    }
    if (Operation* other = spare_.exchange(operation)) {
      putAside(other);
    }
  }

  // Number of operations in this process that were taken and not given back. Counting what there is and what lies idle
  // spares each call two atomic additions.
  static int taken();

  // Afterwards every processor has seen what this thread wrote before, and taken() what the others took before they saw
  // it. Slow.
  static void settle();

 private:
  Operation* takeAnother();
  void putAside(Operation* operation);

  Operation* const waitedFor_ = new Operation();
  std::atomic<bool> waitedForIsTaken_{false};
  // To be had without the lock.
  std::atomic<Operation*> spare_{nullptr};
  mutable std::mutex mutex_;
  std::vector<Operation*> idle_;
  int made_ = 0;
};

}  // namespace jccl
