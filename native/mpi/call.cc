#include "call.h"

#include <cstring>
#include <limits>
#include <numeric>

namespace jccl {

// Products that do not wait for one another, since each collective is hashed; the factors are digits of pi, made odd.
uint64_t signatureOf(const Call& call, int size) {
  uint64_t factor;
  std::memcpy(&factor, &call.factor, sizeof(factor));
  uint64_t hash = (static_cast<uint64_t>(call.what) + 1) * 0x243f6a8885a308d3u +
                  static_cast<uint64_t>(call.count) * 0x13198a2e03707345u +
                  static_cast<uint64_t>(call.type) * 0xa4093822299f31d1u +
                  static_cast<uint64_t>(call.kind) * 0x082efa98ec4e6c89u + factor * 0x452821e638d01377u +
                  static_cast<uint64_t>(call.root) * 0xbe5466cf34e90c6du;
  const int64_t* counts = call.what == kAllGatherV ? call.outCounts : call.what == kReduceScatterV ? call.inCounts : nullptr;
  for (int i = 0; counts != nullptr && i < size; i++) {
    hash = (hash ^ static_cast<uint64_t>(counts[i])) * 1099511628211u;
  }
  return hash;
}

WideCount bytesOf(const Call& call, int size) {
  const WideCount bytes = elementSizeOf(call.type);
  switch (call.what) {
    case kBarrier:
      return 0;
    case kBroadcast:
    case kAllReduce:
    case kReduce:
      return call.count * bytes;
    case kAllGatherV:
      return std::accumulate(call.outCounts, call.outCounts + size, WideCount{0}) * bytes;
    case kReduceScatterV:
      return std::accumulate(call.inCounts, call.inCounts + size, WideCount{0}) * bytes;
    case kAllToAllV:
      return std::numeric_limits<int64_t>::max();
    default:
      return call.count * size * bytes;
  }
}

}  // namespace jccl
