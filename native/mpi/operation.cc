#include "operation.h"

#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>

namespace jccl {

uint64_t signatureOf(const Call& call, int size) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a, over numbers
  const auto add = [&hash](int64_t part) { hash = (hash ^ static_cast<uint64_t>(part)) * 1099511628211u; };
  int64_t factor;
  std::memcpy(&factor, &call.factor, sizeof(factor));
  for (const int64_t part : {int64_t{call.what}, call.count, int64_t{call.type}, int64_t{call.kind}, factor, int64_t{call.root}}) {
    add(part);
  }
  const int64_t* counts = call.what == kAllGatherV ? call.outCounts : call.what == kReduceScatterV ? call.inCounts : nullptr;
  for (int i = 0; counts != nullptr && i < size; i++) {
    add(counts[i]);
  }
  return hash;
}

int64_t largestMessageOf(const Call& call, int size) {
  const auto bytes = static_cast<int64_t>(elementSizeOf(call.type));
  switch (call.what) {
    case kBarrier:
      return 0;
    case kBroadcast:
    case kAllReduce:
    case kReduce:
      return call.count * bytes;
    case kAllGatherV:
      return std::accumulate(call.outCounts, call.outCounts + size, int64_t{0}) * bytes;
    case kReduceScatterV:
      return std::accumulate(call.inCounts, call.inCounts + size, int64_t{0}) * bytes;
    case kAllToAllV:
      return std::numeric_limits<int64_t>::max();
    default:
      return call.count * size * bytes;
  }
}

}  // namespace jccl
