// The operations of one communicator, reused since their vectors keep their memory.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "operation.h"

namespace jccl {

class OperationPool {
 public:
  OperationPool() = default;

  // What was taken and not given back stays: the library may still use it.
  ~OperationPool();

  OperationPool(const OperationPool&) = delete;
  OperationPool& operator=(const OperationPool&) = delete;

  Operation* take();
  void giveBack(Operation* operation);

  // Number of operations in this process that were taken and not given back.
  static int taken() { return taken_; }

 private:
  inline static std::atomic<int> taken_{0};

  std::mutex mutex_;
  std::vector<Operation*> idle_;
};

}  // namespace jccl
