// An algorithm under way: its messages, and what is combined when they have come.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithm.h"

namespace jccl {

// Driven by one thread at a time.
class Exchange {
 public:
  // The last one is over. The memory is used until takeMemory().
  void begin(const Algorithm& algorithm, int tag, std::vector<char> memory);

  // Of one that is over, for another one.
  std::vector<char> takeMemory() { return std::move(memory_); }

  // Does what can be done without waiting, up to a number of steps. Returns whether all are done. Throws when a rank sends
  // another number of elements than it must.
  bool advance(MPI_Comm comm) { return ended_ == algorithm_.steps() || advanceOnce(comm); }

  // Whether the library has none of its messages.
  bool isIdle() const;

  // After a failure, when it is idle.
  void forget();

 private:
  struct Slot {
    Step step;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Status status;
  };

  bool advanceOnce(MPI_Comm comm);
  Slot& slotOf(int64_t number) { return slots_[number % Algorithm::kMostWindow]; }
  char* scratchOf(int64_t number);
  void start(int64_t number, MPI_Comm comm);
  static bool isDone(Slot& slot);
  void end(int64_t number);

  Algorithm algorithm_;
  int tag_ = 0;
  int64_t begun_ = 0;
  int64_t ended_ = 0;
  Slot slots_[Algorithm::kMostWindow];
  // For each slot, what is received to be combined.
  std::vector<char> memory_;
};

}  // namespace jccl
