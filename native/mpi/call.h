// What a rank asks of its group in a collective, and what ranks compare of it.
#pragma once

#include <cstdint>

#include "types.h"

namespace jccl {

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

}  // namespace jccl
