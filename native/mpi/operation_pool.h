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

  void giveBack(Operation* operation) {
    if (Operation* other = spare_.exchange(operation)) {
      putAside(other);
    }
  }

  // Number of operations in this process that were taken and not given back. Counting what there is and what lies idle
  // spares each call two atomic additions.
  static int taken();

 private:
  Operation* takeAnother();
  void putAside(Operation* operation);

  // To be had without the lock.
  std::atomic<Operation*> spare_{nullptr};
  mutable std::mutex mutex_;
  std::vector<Operation*> idle_;
  int made_ = 0;
};

}  // namespace jccl
