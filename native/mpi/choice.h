// Which collectives are made of messages of ours, and which are the library's own calls.
#pragma once

#include "algorithm.h"
#include "operation.h"

namespace jccl {

// The same on all ranks.
Way wayOf(const Call& call, int size);

}  // namespace jccl
