#include "operation_pool.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace jccl {

namespace {

// Of this process. Never destroyed: threads may still wait when the process ends.
struct Pools {
  std::mutex mutex;
  std::vector<OperationPool*> live;
  // Of pools that are gone.
  int kept = 0;

  static Pools& ofProcess() {
    static auto& instance = *new Pools();
    return instance;
  }
};

}  // namespace

OperationPool::OperationPool() {
  Pools& pools = Pools::ofProcess();
  std::lock_guard<std::mutex> lock(pools.mutex);
  pools.live.push_back(this);
}

OperationPool::~OperationPool() {
  Pools& pools = Pools::ofProcess();
  // Before anything changes, since taken() looks at pools that are live.
  std::lock_guard<std::mutex> lock(pools.mutex);
  if (Operation* spare = spare_.exchange(nullptr)) {
    idle_.push_back(spare);
  }
  pools.live.erase(std::find(pools.live.begin(), pools.live.end(), this));
  pools.kept += made_ - static_cast<int>(idle_.size());
  if (waitedForIsTaken_) {
    pools.kept++;
  } else {
    delete waitedFor_;
  }
  for (Operation* operation : idle_) {
    delete operation;
  }
}

int OperationPool::taken() {
  Pools& pools = Pools::ofProcess();
  std::lock_guard<std::mutex> lock(pools.mutex);
  int taken = pools.kept;
  for (const OperationPool* pool : pools.live) {
    std::lock_guard<std::mutex> poolLock(pool->mutex_);
    taken += pool->made_ - static_cast<int>(pool->idle_.size()) - (pool->spare_ != nullptr ? 1 : 0) +
             (pool->waitedForIsTaken_ ? 1 : 0);
  }
  return taken;
}

void OperationPool::settle() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) {
    // An old or a confined system. No processor keeps a write to itself for that long.
    usleep(10000);
  }
}

Operation* OperationPool::takeAnother() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) {
    made_++;
    return new Operation();
  }
  Operation* operation = idle_.back();
  idle_.pop_back();
  return operation;
}

void OperationPool::putAside(Operation* operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(operation);
}

}  // namespace jccl
