// Communicators of groups that were closed. MPI_Comm_free lets the library use a communicator's identity again, for the
// next one: a message that was not received would then arrive in another group. So a communicator is freed when its
// members have told one another that nothing of it is left, and kept until the process ends where that never comes.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace jccl {

// What a member did with a communicator, in numbers that show when all of it has met its counterpart.
class Traffic {
 public:
  // The same on all members, in the same order.
  void collective(uint64_t signature) { collectives_ = (collectives_ ^ signature) * kPrime; }

  void sent() { balance_.fetch_add(1, std::memory_order_relaxed); }
  void received() { balance_.fetch_sub(1, std::memory_order_relaxed); }

  // Of an all_to_all whose members know only their own counts. Returns a number whose sum over all members is 0 when
  // each part that is sent is as large as the one that is received.
  uint64_t splits(int rank, int size, const int64_t* in, const int64_t* out);

  uint64_t collectives() const { return collectives_; }

  // The sum over all members is 0 when each part that was sent was received.
  uint64_t balance() const { return balance_; }

 private:
  static constexpr uint64_t kPrime = 1099511628211u;

  uint64_t collectives_ = 0;
  std::atomic<uint64_t> balance_{0};
};

// Takes the communicators of a group that this member will not use again, with nothing under way. Does not wait for the
// others, and talks to them by the first one.
void retire(std::vector<MPI_Comm> comms, const Traffic& traffic);

// Frees what all members have retired; what the library will not free is told on stderr, and kept. Returns whether none is
// left that waits for others.
bool reapRetired();

// The tag with which members talk about it; users' tags are smaller.
int largestTag();

}  // namespace jccl
