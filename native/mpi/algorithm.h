// Collectives that are made of messages where that is faster than the library's own call, see choice.h. A rank's part of
// one is a numbered sequence of steps that follows from its arguments alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../common/reduce.h"

namespace jccl {

// Who makes a collective: the library, or one of the algorithms below.
enum class Way { kLibrary, kDoubling, kToRoot, kFromRoot, kRing, kPairwise };

// What a rank does at a time: it sends to one rank, receives from one, or both.
struct Step {
  // Negative ranks stand for none.
  int to = -1;
  const char* sent = nullptr;
  int64_t sentElements = 0;
  int from = -1;
  // Where the received elements go; or, if there is `mine`, the result of combining both.
  char* target = nullptr;
  int64_t elements = 0;
  const char* mine = nullptr;
  // The lower rank's elements come first where ranks combine the same two, so that all get the same bits.
  bool mineFirst = false;
};

class Algorithm {
 public:
  // No steps.
  Algorithm() = default;

  // All ranks combine all elements, in log2(size) exchanges of everything. In place.
  static Algorithm doubling(int rank, int size, void* data, int64_t count, int type, int kind);

  // The root receives all elements of each rank in turn. Another rank's `out` is not used.
  static Algorithm toRoot(
      int rank, int size, int root, const void* in, void* out, int64_t count, int type, int kind);

  // The root sends all elements to each rank in turn.
  static Algorithm fromRoot(int rank, int size, int root, void* data, int64_t count, int type);

  // There is a block for each rank. The blocks go round while ranks add theirs, and then the results go round. In place.
  static Algorithm ring(int rank, int size, void* data, int64_t count, int type, int kind);

  // Of the following, `count` is that of all blocks, which are equally long. Each rank sends a block to each other.
  static Algorithm allToAll(int rank, int size, const void* in, void* out, int64_t count, int type);

  // `in` is one block, which is in `out` too.
  static Algorithm allGather(int rank, int size, const void* in, void* out, int64_t count, int type);

  // `out` is one block.
  static Algorithm reduceScatter(
      int rank, int size, const void* in, void* out, int64_t count, int type, int kind);

  int64_t steps() const { return steps_; }

  Step step(int64_t number) const;

  // Step n may begin when step n - window() has ended.
  int window() const { return window_; }

  // Of the longest message that is combined.
  int64_t scratchBytes() const { return scratchElements_ * elementSize_; }

  int64_t elementSize() const { return elementSize_; }
  Combine combine() const { return combine_; }

  static constexpr int kMostWindow = 8;

 private:
  Algorithm(Way way, int rank, int size, const void* in, void* out, int64_t count, int type, int kind);
  void cut(int64_t longest, int64_t pieceBytes);
  void meetAt(int root, int64_t pieceBytes);
  void exchangeBlocks(int64_t pieceBytes);

  Step doublingStep(int64_t number) const;
  Step rootStep(int64_t number) const;
  Step ringStep(int64_t number) const;
  Step pairwiseStep(int64_t number) const;

  int64_t beginOf(int block) const;
  int64_t lengthOf(int block) const;
  int64_t beginIn(int block, int64_t segment) const;
  int64_t lengthIn(int block, int64_t segment) const;
  int rankAt(int distance) const;
  int64_t bytes(int64_t elements) const { return elements * elementSize_; }

  int64_t steps_ = 0;
  int window_ = 1;
  Way way_ = Way::kLibrary;
  bool combines_ = false;
  bool sendsOwnBlock_ = false;  // rather than the receiver's
  int rank_ = 0;
  int size_ = 0;
  int root_ = 0;
  const char* in_ = nullptr;
  char* out_ = nullptr;
  int64_t count_ = 0;
  int64_t elementSize_ = 0;
  int64_t scratchElements_ = 0;
  // Of each block, or of all, and the elements of one.
  int64_t segments_ = 0;
  int64_t segmentElements_ = 0;
  Combine combine_ = nullptr;
};

}  // namespace jccl
