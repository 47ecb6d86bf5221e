// The words that cross JNI, and their numbers: one numbering for Java and all shims. NativeVocabularyTest of java-api
// compares each list here with the Java enum of its line, names and numbers, in both directions.
#pragma once

#include <cstddef>

namespace jccl {

// org.jccl.spi.support.NativeStatus: what a call came to. Calls that return something else too return the negative of it.
enum Status : int { kOk, kTimeout, kPeerLost, kInvalid, kAborted, kMismatch, kInternal };

// org.jccl.DataType
enum DataType : int {
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kBool,
  kFloat8E4m3,
  kFloat8E5m2,
};
constexpr int kDataTypes = kFloat8E5m2 + 1;

// Bytes of an element of each data type.
constexpr size_t kElementSizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1, 1};
static_assert(sizeof(kElementSizes) / sizeof(size_t) == kDataTypes, "one size for each data type");

inline size_t elementSizeOf(int type) { return kElementSizes[type]; }

// org.jccl.ReduceOp.Kind
enum ReduceKind : int { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor, kPremulSum };
constexpr int kReduceKinds = kPremulSum + 1;

// org.jccl.spi.OperationKind
enum OperationKind : int {
  kBroadcast,
  kAllReduce,
  kReduce,
  kAllGather,
  kAllGatherV,
  kGather,
  kScatter,
  kReduceScatter,
  kReduceScatterV,
  kAllToAll,
  kAllToAllV,
  kBarrier,
  kSend,
  kRecv,
};

}  // namespace jccl
