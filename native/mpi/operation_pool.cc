#include "operation_pool.h"

namespace jccl {

OperationPool::~OperationPool() {
  for (Operation* operation : idle_) {
    delete operation;
  }
}

Operation* OperationPool::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) {
    idle_.push_back(new Operation());
  }
  Operation* operation = idle_.back();
  idle_.pop_back();
  taken_++;
  return operation;
}

void OperationPool::giveBack(Operation* operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(operation);
  taken_--;
}

}  // namespace jccl
