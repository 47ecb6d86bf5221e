// Messages under way, which live as long as the library works on them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "types.h"

namespace jccl {

// One send or receive.
struct Message {
  MPI_Request request = MPI_REQUEST_NULL;
  // Of more elements than one call takes.
  MPI_Datatype ownType;
  bool ownsType = false;
  MPI_Status status;

  // A receive: how many elements must come, else -1.
  int64_t expected = -1;
  int type = 0;
  void* data = nullptr;
  int peer = 0;
  int tag = 0;
  // Where a message goes that is too long.
  std::vector<char> scratch;

  // Why it failed, where that was noticed by a test.
  std::unique_ptr<Failure> failure;

  // Not yet in the library's hands; see deferred.h. While it is set, the members above belong to Deferred.
  std::atomic<bool> deferred{false};
};

// The messages of one communicator, reused since they are allocated.
class MessagePool {
 public:
  MessagePool() = default;

  // What was taken and not given back stays: the library may still use it.
  ~MessagePool();

  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;

  Message* take();
  void giveBack(Message* message);

  // Number of messages in this process that were taken and not given back.
  static int taken() { return taken_; }

 private:
  inline static std::atomic<int> taken_{0};

  std::mutex mutex_;
  std::vector<Message*> idle_;
};

}  // namespace jccl
