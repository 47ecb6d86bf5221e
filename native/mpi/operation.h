// What a rank asks of its group, and what must live as long as the library works on it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "types.h"

namespace jccl {

class Communicator;

// One collective with its arguments, from the boundary to where MPI is called. Those that a collective does not have stay
// as they are here.
struct Call {
  OperationKind what;
  void* in = nullptr;
  void* out = nullptr;
  int64_t count = 0;
  int type = 0;
  int kind = 0;
  double factor = 0;
  int root = 0;
  // Elements for each rank and from each rank, where they differ.
  const int64_t* inCounts = nullptr;
  const int64_t* outCounts = nullptr;
};

// A hash of what must be equal on all ranks.
uint64_t signatureOf(const Call& call, int size);

// Holds the product of any count, the size of an element and a number of ranks.
using WideCount = __int128;

// Bytes of the whole data, which is at least as much as any message has; equal on all ranks. In an all_to_all of different
// parts ranks do not know one another's, so that is without limit.
WideCount bytesOf(const Call& call, int size);

// How a collective is made.
enum class Way {
  // By the call that does not block, which the caller polls.
  kPolled,
  // By the call that blocks, on the thread of the group.
  kGroupThread,
  // By the call that blocks, on the thread of the caller.
  kCallersThread,
};

// Whether a collective is so long that the call that blocks, on another thread, is not slower than the one that does not.
bool isLongCall(const Call& call, int size);

// Reused, so that vectors keep their memory.
struct Operation {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Datatype> ownTypes;
  std::vector<char> scratch;
  // Of the forms with parts of different sizes: counts and places of what is sent and received.
  std::vector<int> sendCounts;
  std::vector<int> sendPlaces;
  std::vector<int> receiveCounts;
  std::vector<int> receivePlaces;
  std::vector<MPI_Datatype> sendTypes;
  std::vector<MPI_Datatype> receiveTypes;

  // A receive: how many elements must come, else -1.
  int64_t expected = -1;
  int type = 0;
  MPI_Status status;

  // Why it failed, where that was noticed by a test.
  std::unique_ptr<Failure> failure;

  // An average: what is left to divide.
  void* sum = nullptr;
  int64_t sumCount = 0;

  // Not yet in the library's hands, or on the thread of the group; see deferred.h. While it is set, the members below belong
  // to Deferred.
  std::atomic<bool> deferred{false};

  // A collective: first the ranks compare a number, and get its sum. Then its call is made.
  bool isCollective = false;
  Call call;
  Way way = Way::kPolled;
  std::vector<int64_t> inCounts;
  std::vector<int64_t> outCounts;
  MPI_Request comparison = MPI_REQUEST_NULL;
  bool isCompared = false;
  uint64_t mine;
  uint64_t sumOfAll;
  bool isBegun = false;

  // A deferred receive.
  void* data = nullptr;
  int peer = 0;
  int tag = 0;

  MPI_Request* next() {
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  }

  MPI_Datatype own(MPI_Datatype made) {
    ownTypes.push_back(made);
    return made;
  }
};

}  // namespace jccl
