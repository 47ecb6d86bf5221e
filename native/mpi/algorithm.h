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

  // There is a block for each rank. The blocks go round while ranks add theirs, which is one round fewer than there are
  // ranks, and then each rank has the result of its own block, in `out`. `count` is that of all blocks.
  static Algorithm ringOfBlocks(
      int rank, int size, const void* in, void* out, int64_t count, int type, int kind);

  // The same in place, and then the results go round.
  static Algorithm ring(int rank, int size, void* data, int64_t count, int type, int kind);

  // Each rank has a block, `in`, which is in `out` too, and the blocks go round. `count` is that of all blocks.
  static Algorithm gathering(int rank, int size, const void* in, void* out, int64_t count, int type);

  // Each rank has a block for each other. `count` is that of all blocks.
  static Algorithm pairwise(int rank, int size, const void* in, void* out, int64_t count, int type);

  int64_t steps() const { return steps_; }

  Step step(int64_t number) const;

  // Step n may begin when step n - window() has ended.
  int window() const { return window_; }

  // Of the longest message that is combined.
  int64_t scratchBytes() const { return scratchElements_ * elementSize_; }

  // Memory that is the algorithm's own while it runs.
  int64_t workBytes() const { return workElements_ * elementSize_; }
  void setWork(char* work) { work_ = work; }

  int64_t elementSize() const { return elementSize_; }
  Combine combine() const { return combine_; }

  static constexpr int kMostWindow = 8;

 private:
  Algorithm(Way way, int rank, int size, const void* in, void* out, int64_t count, int type, int kind);
  void cut(int64_t longest, int64_t pieceBytes);
  void meetAt(int root, int64_t pieceBytes);

  Step doublingStep(int64_t number) const;
  Step rootStep(int64_t number) const;
  Step ringStep(int64_t number) const;
  Step combiningStep(int round, int64_t segment) const;
  Step gatheringStep(int round, int64_t segment) const;
  Step pairwiseStep(int64_t number) const;

  int64_t beginOf(int block) const;
  int64_t lengthOf(int block) const;
  int64_t beginIn(int block, int64_t segment) const;
  int64_t lengthIn(int block, int64_t segment) const;
  int blockAt(int distance) const;
  int64_t bytes(int64_t elements) const { return elements * elementSize_; }
  char* partial(int block, int64_t segment) const;

  int64_t steps_ = 0;
  int window_ = 1;
  Way way_ = Way::kLibrary;
  bool inPlace_ = false;
  int64_t combiningSteps_ = 0;  // of a ring; those after them move results
  int rank_ = 0;
  int size_ = 0;
  int root_ = 0;
  const char* in_ = nullptr;
  char* out_ = nullptr;
  char* work_ = nullptr;
  int64_t count_ = 0;
  int64_t elementSize_ = 0;
  int64_t scratchElements_ = 0;
  int64_t workElements_ = 0;
  // Of each block, or of all, and the elements of one.
  int64_t segments_ = 0;
  int64_t segmentElements_ = 0;
  Combine combine_ = nullptr;
};

}  // namespace jccl
