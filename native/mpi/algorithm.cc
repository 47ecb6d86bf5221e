#include "algorithm.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../common/power.h"
#include "types.h"

namespace jccl {

namespace {

// Open MPI sends up to 4 KB with its header eagerly in shared memory. Longer messages wait for an answer of the receiver,
// which takes longer than a few more messages: a reduce of 64 KB between two ranks takes 5.5 us in such pieces and 9.2 us in
// one; if the two processors are far apart, 11.8 and 21.0 us. Over TCP the pieces of an all_reduce of 16 KB take 57 us, and
// C's blocking call 21, so ranks of several hosts send long messages. So do more than two ranks: with four on two processors,
// a processor changes between ranks for each message.
constexpr int64_t kEagerPiece = 4032;
constexpr int64_t kEagerBlock = 16 << 10;
constexpr int64_t kEagerToRoot = 512 << 10;

constexpr int64_t kCombinedPiece = 2 << 20;
// In longer pieces a reduce leaves the caches: 4 MB between two ranks take 214 us in pieces of 128 KB, 163 in these, and 178 in
// pieces of 1 MB.
constexpr int64_t kToRootPiece = 512 << 10;
// Of what is only moved. An all_gather of 16 MB takes a tenth longer in pieces of 2 MB.
constexpr int64_t kMovedPiece = 64 << 20;

// An all_gather sends a short block from where the caller has it: only this processor's cache has the copy, and with distant
// processors blocks of 128 KB between two ranks take 20 us from there, and 13 otherwise. The output of a longer one may lie in
// huge pages, and the input not: blocks of 512 KB take 22 us, and 47.
constexpr int64_t kMostFromInput = 128 << 10;

// The library copies twice what comes before its receive was posted. With two pieces under way rather than eight, an
// all_gather of 16 KB of two ranks takes 2.7 us rather than 2.3, and a broadcast of 16 KB to three ranks 30 us rather than 18.
// For longer pieces the memory counts.
constexpr int64_t kWideWindowPiece = 128 << 10;
constexpr int kNarrowWindow = 2;

// By what Open MPI's launcher says on all ranks alike; without it, they may be on several hosts.
bool isJobOnOneHost() {
  static const bool one = [] {
    const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
    const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return all != nullptr && here != nullptr && std::strcmp(all, here) == 0;
  }();
  return one;
}

}  // namespace

Algorithm::Algorithm(
    Way way, int rank, int size, const void* in, void* out, int64_t count, int type, int kind)
    : way_(way),
      rank_(rank),
      size_(size),
      in_(static_cast<const char*>(in)),
      out_(static_cast<char*>(out)),
      count_(count),
      elementSize_(static_cast<int64_t>(elementSizeOf(type))),
      combine_(combineOf(type, kind)) {}

Algorithm Algorithm::doubling(int rank, int size, void* data, int64_t count, int type, int kind) {
  Algorithm a(Way::kDoubling, rank, size, data, data, count, type, kind);
  a.scratchElements_ = count;
  const int power = largestPowerOf2(size);
  if (rank >= power) {
    a.steps_ = 2;
    return a;
  }
  for (int distance = 1; distance < power; distance *= 2) {
    a.steps_++;
  }
  if (rank < size - power) {
    a.steps_ += 2;
  }
  return a;
}

// Ranks beyond a power of two give their elements to one below it first, and get the result from it.
Step Algorithm::doublingStep(int64_t number) const {
  const int power = largestPowerOf2(size_);
  Step step;
  const auto send = [&](int to) {
    step.to = to;
    step.sent = out_;
    step.sentElements = count_;
  };
  const auto receive = [&](int from) {
    step.from = from;
    step.target = out_;
    step.elements = count_;
  };
  if (rank_ >= power) {
    number == 0 ? send(rank_ - power) : receive(rank_ - power);
    return step;
  }
  const bool hasOther = rank_ < size_ - power;
  if (hasOther && number == steps_ - 1) {
    send(rank_ + power);
    return step;
  }
  const bool fromOther = hasOther && number == 0;
  const int peer = fromOther ? rank_ + power : rank_ ^ (1 << (hasOther ? number - 1 : number));
  receive(peer);
  step.mine = out_;
  step.mineFirst = rank_ < peer;
  if (!fromOther) {
    send(peer);
  }
  return step;
}

// In pieces that were fast by measurement, or as small as tests have the library's calls.
void Algorithm::cut(int64_t longest, int64_t pieceBytes) {
  const int64_t mostEager = way_ == Way::kToRoot ? kEagerToRoot : kEagerBlock;
  const bool eager = size_ == 2 && isJobOnOneHost() && bytes(longest) <= mostEager;
  const int64_t most = std::min(eager ? kEagerPiece : pieceBytes, largestCall);
  segments_ = std::max<int64_t>(1, (bytes(longest) + most - 1) / most);
  segmentElements_ = (longest + segments_ - 1) / segments_;
  scratchElements_ = segmentElements_;
  window_ = bytes(segmentElements_) <= kWideWindowPiece ? kMostWindow : kNarrowWindow;
}

Algorithm Algorithm::toRoot(
    int rank, int size, int root, const void* in, void* out, int64_t count, int type, int kind) {
  Algorithm a(Way::kToRoot, rank, size, in, out, count, type, kind);
  a.meetAt(root, kToRootPiece);
  return a;
}

Algorithm Algorithm::fromRoot(int rank, int size, int root, void* data, int64_t count, int type) {
  Algorithm a(Way::kFromRoot, rank, size, data, data, count, type, kSum);
  a.meetAt(root, kMovedPiece);
  a.scratchElements_ = 0;
  return a;
}

void Algorithm::meetAt(int root, int64_t pieceBytes) {
  root_ = root;
  // The window may exceed the segments: steps end in their order, and none sends what another one combines.
  cut(count_, pieceBytes);
  steps_ = rank_ == root ? segments_ * (size_ - 1) : segments_;
}

Step Algorithm::rootStep(int64_t number) const {
  const bool isRoot = rank_ == root_;
  const int64_t segment = isRoot ? number / (size_ - 1) : number;
  const int64_t begin = std::min(segment * segmentElements_, count_);
  const int64_t length = std::min(segmentElements_, count_ - begin);
  const auto peer = static_cast<int>(number % (size_ - 1));
  const int other = isRoot ? rankAt(peer + 1) : root_;
  const bool combines = way_ == Way::kToRoot;
  Step step;
  if (isRoot == combines) {
    step.from = other;
    step.target = out_ + bytes(begin);
    step.elements = length;
    step.mine = !combines ? nullptr : peer == 0 ? in_ + bytes(begin) : step.target;
  } else {
    step.to = other;
    step.sent = in_ + bytes(begin);
    step.sentElements = length;
  }
  return step;
}

Algorithm Algorithm::ring(int rank, int size, void* data, int64_t count, int type, int kind) {
  Algorithm a(Way::kRing, rank, size, data, data, count, type, kind);
  a.cut(a.lengthOf(0), kCombinedPiece);
  // What a step sends was received in the step of the same segment a round before.
  a.window_ = static_cast<int>(std::min<int64_t>(a.segments_, a.window_));
  a.steps_ = 2 * (size - 1) * a.segments_;
  return a;
}

void Algorithm::exchangeBlocks(int64_t pieceBytes) {
  cut(lengthOf(0), pieceBytes);
  steps_ = (size_ - 1) * segments_;
}

Algorithm Algorithm::allToAll(int rank, int size, const void* in, void* out, int64_t count, int type) {
  Algorithm a(Way::kPairwise, rank, size, in, out, count, type, kSum);
  a.exchangeBlocks(kMovedPiece);
  a.scratchElements_ = 0;
  return a;
}

Algorithm Algorithm::allGather(int rank, int size, const void* in, void* out, int64_t count, int type) {
  Algorithm a = allToAll(rank, size, in, out, count, type);
  a.sendsOwnBlock_ = true;
  return a;
}

Algorithm Algorithm::reduceScatter(
    int rank, int size, const void* in, void* out, int64_t count, int type, int kind) {
  Algorithm a(Way::kPairwise, rank, size, in, out, count, type, kind);
  a.exchangeBlocks(kCombinedPiece);
  a.combines_ = true;
  return a;
}

// Blocks differ by one element at most, and the first ones are the longest.
int64_t Algorithm::lengthOf(int block) const { return count_ / size_ + (block < count_ % size_ ? 1 : 0); }

int64_t Algorithm::beginOf(int block) const {
  return block * (count_ / size_) + std::min<int64_t>(block, count_ % size_);
}

int64_t Algorithm::beginIn(int block, int64_t segment) const {
  return std::min(segment * segmentElements_, lengthOf(block));
}

int64_t Algorithm::lengthIn(int block, int64_t segment) const {
  return beginIn(block, segment + 1) - beginIn(block, segment);
}

int Algorithm::rankAt(int distance) const { return ((rank_ + distance) % size_ + size_) % size_; }

Step Algorithm::ringStep(int64_t number) const {
  const auto round = static_cast<int>(number / segments_);
  const int64_t segment = number % segments_;
  const int given = rankAt(-round - 1);
  const int taken = rankAt(-round - 2);
  Step step;
  step.to = rankAt(1);
  step.sent = out_ + bytes(beginOf(given) + beginIn(given, segment));
  step.sentElements = lengthIn(given, segment);
  step.from = rankAt(-1);
  step.target = out_ + bytes(beginOf(taken) + beginIn(taken, segment));
  step.elements = lengthIn(taken, segment);
  // A rank adds until it has the sum of its own block, and then takes sums.
  step.mine = round < size_ - 1 ? step.target : nullptr;
  return step;
}

// The ranks of a segment in turn, so that what is combined stays in the caches.
Step Algorithm::pairwiseStep(int64_t number) const {
  const auto round = static_cast<int>(number % (size_ - 1)) + 1;
  const int64_t segment = number / (size_ - 1);
  Step step;
  step.to = rankAt(round);
  step.from = rankAt(-round);
  if (sendsOwnBlock_) {
    const char* block = bytes(lengthOf(rank_)) <= kMostFromInput ? in_ : out_ + bytes(beginOf(rank_));
    step.sent = block + bytes(beginIn(rank_, segment));
  } else {
    step.sent = in_ + bytes(beginOf(step.to) + beginIn(step.to, segment));
  }
  step.sentElements = lengthIn(rank_, segment);
  step.elements = lengthIn(rank_, segment);
  if (combines_) {
    step.target = out_ + bytes(beginIn(rank_, segment));
    step.mine = round == 1 ? in_ + bytes(beginOf(rank_) + beginIn(rank_, segment)) : step.target;
  } else {
    step.target = out_ + bytes(beginOf(step.from) + beginIn(step.from, segment));
  }
  return step;
}

Step Algorithm::step(int64_t number) const {
  switch (way_) {
    case Way::kDoubling:
      return doublingStep(number);
    case Way::kToRoot:
    case Way::kFromRoot:
      return rootStep(number);
    case Way::kPairwise:
      return pairwiseStep(number);
    default:
      return ringStep(number);
  }
}

}  // namespace jccl
