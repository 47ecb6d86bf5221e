#include <cstring>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>

#include "collectives.h"
#include "power.h"

namespace jccl {

namespace {

// Four ways of an all-reduce, measured in turns on loopback, on a quiet machine with two cores: microseconds of an
// exchange of everything with all at once, of exchanges with one rank after another at doubled distances, of a direct
// reduce-scatter and all-gather, and of gloo's ring.
//
//           KB       16     64    128    256    500   1000   2000   4000
//   2 ranks exchange 20     28     27    131    141    525   1084   2893
//           direct   52     66     77     69    238    443    905   2496
//           ring    143    184    172    199    445    531    880   2662
//   4 ranks exchange 89    148    251    391    870   2569   8019  12987
//           doubling 54     71    106    172    315   1357
//           direct  138    163    199    264    360    732   2326   5119
//           ring    718    719    745    811    898   1244   2528   4081
//   8 ranks exchange 328
//           doubling 166   253    379    625   1103   4340
//           direct         566    578    672   1045   1721   3933
//
// Up to this much received by a rank, everything is exchanged.
constexpr size_t kExchangeBytes = 192 * 1024;

// From this many ranks of one host on, doubling needs so many fewer messages that it is faster, up to this size.
constexpr int kDoublingRanks = 4;
constexpr size_t kDoublingBytes = 256 * 1024;

// The exchange with more than two ranks on several hosts, where the link is slower than the additions: of four ranks on two
// hosts, every byte crosses it four times in an exchange, and twice in a direct reduce-scatter and all-gather.
constexpr size_t kExchangeBytesOfHosts = 32 * 1024;

// Up to this size parts go straight to their ranks in an all-reduce and a reduce-scatter. A ring needs no memory in
// proportion to the message, and crosses a link between hosts of several ranks less often.
constexpr size_t kDirectBytes = 2 * 1024 * 1024;

// Up to this much received by a rank, a reduce and an all-gather go straight to who needs it.
constexpr size_t kGatherBytes = 512 * 1024;

// All-gathers of any size go straight where up to this many ranks are on one host: the ring took three times as long at 1 MB,
// and as long at 64 MB. More ranks were not measured.
constexpr int kDirectRanks = 8;

constexpr size_t kSegmentBytes = 1024 * 1024;

// Two lanes of two segments.
constexpr size_t kRingBytes = 4 * kSegmentBytes;

// One segment of a chain, which fits into the cache of a processor.
constexpr size_t kChainBytes = 256 * 1024;

}  // namespace

std::shared_ptr<Mesh> Collectives::makeMesh(std::shared_ptr<tcp::Device> device) const {
  auto mesh = std::make_shared<Mesh>(std::move(device), rank_, size_, timeout_);
  mesh->exchange().setBusyPolling(busyPolling_);
  return mesh;
}

uint64_t Collectives::messageSlot(size_t count, int type, int tag) const {
  return slotOf(kPointToPoint, tag, Signature(kSend, type).add(count).bits24());
}

Operation Collectives::begin(const Signature& signature, Clock::time_point deadline) {
  return Operation(*mesh_, tagOf(sequence_++, signature), deadline);
}

// With nothing to move, ranks still meet, so that one which has something to move is noticed.
void Collectives::meet(const Operation& op) {
  if (size_ >= kDoublingRanks) {
    return reduceByDoubling(op, nullptr, nullptr, 0, 0, combineOf(kUint8, kBor));
  }
  forOthers([&](int i) { op.exchange.with(i, nullptr, 0, nullptr, 0); });
  op.run();
}

void Collectives::barrier(int64_t timeoutMillis) {
  if (size_ == 1) {
    return;
  }
  if (timeoutMillis == 0) {
    return meet(begin(Signature(kBarrier, 0)));
  }
  // Everybody hears from everybody, so that who is missing can be named.
  const Operation op = begin(Signature(kBarrier, 0), Clock::now() + Milliseconds(timeoutMillis));
  forOthers([&](int i) { op.exchange.with(i, nullptr, 0, nullptr, 0); });
  op.run();
}

void Collectives::broadcast(void* data, size_t count, int type, int root) {
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(Signature(kBroadcast, type).add(count).add(root));
  if (count == 0) {
    return meet(op);
  }
  // A binomial tree. Relative to the root, a rank's parent lacks its lowest bit, and its children have a lower one more.
  const size_t bytes = count * elementSizeOf(type);
  const int relative = (rank_ - root + size_) % size_;
  int lowest = 1;
  while (lowest < size_ && (relative & lowest) == 0) {
    lowest *= 2;
  }
  if (relative != 0) {
    op.exchange.receive((relative - lowest + root) % size_, data, bytes);
    op.run();
  }
  for (int bit = lowest / 2; bit > 0; bit /= 2) {
    if (relative + bit < size_) {
      op.exchange.send((relative + bit + root) % size_, data, bytes);
    }
  }
  op.run();
}

void Collectives::allReduce(const void* in, void* out, size_t count, int type, int kind, double factor) {
  const size_t bytes = count * elementSizeOf(type);
  // Of two ranks' elements each is combined once, so that dividing needs no pass of its own.
  const Combine mean = kind == kAvg && size_ == 2 ? meanOfTwo(type) : nullptr;
  const Combine combine = mean != nullptr ? mean : combiner(type, kind);
  if (kind == kPremulSum) {
    multiplyOf(type)(out, in, count, factor);
    in = out;
  }
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(Signature(kAllReduce, type).add(count).add(kind).add(factor));
  if (count == 0) {
    return meet(op);
  }
  const size_t exchanged = size_ == 2 || isOnOneHost() ? kExchangeBytes : kExchangeBytesOfHosts;
  if (size_ >= kDoublingRanks && isOnOneHost() && bytes <= kDoublingBytes) {
    reduceByDoubling(op, in, out, bytes, count, combine);
  } else if (bytes <= exchanged / (size_ - 1)) {
    exchangeAndReduce(op, in, out, bytes, count, combine);
  } else if (bytes <= kDirectBytes) {
    reduceAndGather(op, in, out, count, elementSizeOf(type), combine);
  } else {
    ::gloo::AllreduceOptions options(context_);
    setMemory(
        options, in == out ? nullptr : op.mesh.transfer(in, bytes), op.mesh.transfer(out, bytes), elementSizeOf(type));
    options.setReduceFunction(combine);
    options.setTag(op.tag);
    ::gloo::allreduce(options);
  }
  if (kind == kAvg && mean == nullptr) {
    divideOf(type)(out, out, count, size_);
  }
}

// Every rank sends all it has to every other and reduces by itself: one message time instead of the
// ring's 2 (N - 1), for N / 2 times its bytes.
void Collectives::exchangeAndReduce(
    const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine) {
  auto* parts = static_cast<char*>(scratch(bytes * size_));
  forOthers([&](int i) { op.exchange.with(i, in, bytes, parts + i * bytes, bytes); });
  op.run();
  combineInOrder(in, out, parts, bytes, count, combine);
}

// In each step a rank exchanges all it has with one at twice the distance, and both reduce, the lower one's numbers first.
// Ranks beyond a power of two have another rank take part for them.
void Collectives::reduceByDoubling(
    const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine) {
  const int power = largestPowerOf2(size_);
  copy(out, in, bytes);
  if (rank_ >= power) {
    op.exchange.send(rank_ - power, out, bytes);
    op.run();
    op.exchange.receive(rank_ - power, out, bytes);
    return op.run();
  }
  void* other = scratch(bytes);
  const bool hasOther = rank_ + power < size_;
  if (hasOther) {
    op.exchange.receive(rank_ + power, other, bytes);
    op.run();
    combine(out, out, other, count);
  }
  for (int distance = 1; distance < power; distance *= 2) {
    const int peer = rank_ ^ distance;
    op.exchange.with(peer, out, bytes, other, bytes);
    op.run();
    const bool first = rank_ < peer;
    combine(out, first ? out : other, first ? other : out, count);
  }
  if (hasOther) {
    op.exchange.send(rank_ + power, out, bytes);
    op.run();
  }
}

// Every rank reduces a part, of which it gets the others' numbers, and sends the result to all.
void Collectives::reduceAndGather(
    const Operation& op, const void* in, void* out, size_t count, size_t elementSize, Combine combine) {
  std::vector<int64_t> counts(size_);
  for (int i = 0; i < size_; i++) {
    counts[i] = count * (i + 1) / size_ - count * i / size_;
  }
  const Parts parts(counts.data(), size_, elementSize);
  auto* workspace = static_cast<char*>(scratch(parts.bytes(rank_) * size_));
  void* own = at(out, parts.offset(rank_));
  reduceScatterDirect(op, in, own, parts, workspace, combine, elementSize);
  allGatherDirect(op, own, out, parts);
}

void Collectives::reduce(
    const void* in, void* out, size_t count, int type, int kind, double factor, int root) {
  const size_t bytes = count * elementSizeOf(type);
  const Combine combine = combiner(type, kind);
  const bool direct = bytes <= kGatherBytes / std::max(1, size_ - 1);
  // What the algorithm needs, and the scaled input of a rank that has no output.
  const size_t needed = direct ? (rank_ == root ? bytes * size_ : 0) : kChainBytes;
  const bool scales = kind == kPremulSum;
  auto* workspace = static_cast<char*>(size_ > 1 ? scratch(needed + (scales && rank_ != root ? bytes : 0)) : nullptr);
  if (scales) {
    void* scaled = rank_ == root ? out : workspace + needed;
    multiplyOf(type)(scaled, in, count, factor);
    in = scaled;
  }
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(Signature(kReduce, type).add(count).add(kind).add(factor).add(root));
  if (count == 0) {
    return meet(op);
  }
  if (direct) {
    reduceDirect(op, in, out, bytes, count, combine, root, workspace);
  } else {
    reduceChain(op, in, out, bytes, elementSizeOf(type), combine, root, workspace);
  }
  if (kind == kAvg && rank_ == root) {
    divideOf(type)(out, out, count, size_);
  }
}

// Every rank sends all it has to the root, which reduces.
void Collectives::reduceDirect(
    const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine, int root,
    char* parts) {
  if (rank_ != root) {
    op.exchange.send(root, in, bytes);
    return op.run();
  }
  forOthers([&](int i) { op.exchange.receive(i, parts + i * bytes, bytes); });
  op.run();
  combineInOrder(in, out, parts, bytes, count, combine);
}

// Segments travel from the rank after the root through all ranks to the root. Each adds its own numbers to a segment
// while the next one arrives, so the root receives every byte once.
void Collectives::reduceChain(
    const Operation& op, const void* in, void* out, size_t bytes, size_t elementSize, Combine combine, int root,
    char* received) {
  const int next = (rank_ + 1) % size_;
  const int previous = (rank_ + size_ - 1) % size_;
  const bool first = previous == root;
  for (size_t offset = 0; offset < bytes; offset += kChainBytes) {
    const size_t segment = std::min(kChainBytes, bytes - offset);
    const void* own = at(in, offset);
    if (first) {
      op.exchange.send(next, own, segment);
      op.run();
      continue;
    }
    op.exchange.receive(previous, received, segment);
    op.run();
    void* sum = rank_ == root ? at(out, offset) : received;
    combine(sum, received, own, segment / elementSize);
    if (rank_ != root) {
      op.exchange.send(next, sum, segment);
      op.run();
    }
  }
}

// What the ranks sent lies one after another but for this rank's own. It is added in the order of reduceByDoubling, so that
// the bits of a sum do not depend on which of the two made it.
void Collectives::combineInOrder(
    const void* own, void* out, char* parts, size_t bytes, size_t count, Combine combine) {
  copy(parts + rank_ * bytes, own, bytes);
  const auto part = [&](int rank) { return parts + rank * bytes; };
  const int power = largestPowerOf2(size_);
  for (int i = power; i < size_; i++) {
    combine(part(i - power), part(i - power), part(i), count);
  }
  for (int distance = 1; distance < power; distance *= 2) {
    for (int i = 0; i < power; i += 2 * distance) {
      combine(2 * distance == power ? out : part(i), part(i), part(i + distance), count);
    }
  }
}

void Collectives::allGather(const void* in, void* out, size_t count, int type) {
  const size_t bytes = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(Signature(kAllGather, type).add(count));
  if (count == 0) {
    return meet(op);
  }
  if (gathersDirectly(bytes * size_)) {
    const std::vector<int64_t> counts(size_, count);
    return allGatherDirect(op, in, out, Parts(counts.data(), size_, elementSizeOf(type)));
  }
  ::gloo::AllgatherOptions options(context_);
  if (in != at(out, rank_ * bytes)) {
    options.setInput<uint8_t>(op.mesh.transfer(in, bytes));
  }
  options.setOutput<uint8_t>(op.mesh.transfer(out, bytes * size_));
  options.setTag(op.tag);
  ::gloo::allgather(options);
}

void Collectives::allGatherV(const void* in, void* out, const int64_t* counts, int type) {
  const Parts parts(counts, size_, elementSizeOf(type));
  if (size_ == 1) {
    return copy(out, in, parts.total());
  }
  const Operation op = begin(Signature(kAllGatherV, type).add(counts, size_));
  if (parts.total() == 0) {
    return meet(op);
  }
  if (gathersDirectly(parts.total())) {
    return allGatherDirect(op, in, out, parts);
  }
  ::gloo::AllgathervOptions options(context_);
  if (in != at(out, parts.offset(rank_))) {
    options.setInput<uint8_t>(op.mesh.transfer(in, parts.bytes(rank_)));
  }
  options.setOutput<uint8_t>(op.mesh.transfer(out, parts.total()), parts.all());
  options.setTag(op.tag);
  ::gloo::allgatherv(options);
}

bool Collectives::gathersDirectly(size_t bytes) const {
  return size_ == 2 || bytes <= kGatherBytes || (isOnOneHost() && size_ <= kDirectRanks);
}

void Collectives::allGatherDirect(const Operation& op, const void* in, void* out, const Parts& parts) {
  forOthers([&](int i) { op.exchange.with(i, in, parts.bytes(rank_), at(out, parts.offset(i)), parts.bytes(i)); });
  copy(at(out, parts.offset(rank_)), in, parts.bytes(rank_));
  op.run();
}

void Collectives::gather(const void* in, void* out, int64_t count, int type, int root) {
  const size_t part = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, part);
  }
  const Operation op = begin(Signature(kGather, type).add(static_cast<uint64_t>(count)).add(root));
  if (part == 0) {
    return meet(op);
  }
  if (rank_ != root) {
    op.exchange.send(root, in, part);
  } else {
    forOthers([&](int i) { op.exchange.receive(i, at(out, i * part), part); });
    copy(at(out, rank_ * part), in, part);
  }
  op.run();
}

void Collectives::scatter(const void* in, void* out, int64_t count, int type, int root) {
  const size_t part = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, part);
  }
  const Operation op = begin(Signature(kScatter, type).add(static_cast<uint64_t>(count)).add(root));
  if (part == 0) {
    return meet(op);
  }
  if (rank_ != root) {
    op.exchange.receive(root, out, part);
  } else {
    forOthers([&](int i) { op.exchange.send(i, at(in, i * part), part); });
  }
  op.run();
  if (rank_ == root) {
    copy(out, at(in, rank_ * part), part);
  }
}

void Collectives::reduceScatter(
    const void* in, void* out, int64_t count, int type, int kind, double factor) {
  const std::vector<int64_t> counts(size_, count);
  reduceScatterV(in, out, counts.data(), type, kind, factor);
}

void Collectives::reduceScatterV(
    const void* in, void* out, const int64_t* counts, int type, int kind, double factor) {
  const Parts parts(counts, size_, elementSizeOf(type));
  const size_t count = parts.total() / elementSizeOf(type);
  const Combine combine = combiner(type, kind);
  const void* source = in;
  size_t reserved = 0;
  const bool direct = parts.total() <= kDirectBytes;
  const size_t needed = direct ? parts.bytes(rank_) * size_ : kRingBytes;
  if (kind == kPremulSum) {
    // Room for what the algorithm asks for too, since growing would move the scaled input.
    void* scaled = size_ == 1 ? out : scratch(parts.total() + needed);
    multiplyOf(type)(scaled, in, count, factor);
    source = scaled;
    reserved = size_ == 1 ? 0 : parts.total();
  }
  if (size_ == 1) {
    return copy(out, source, parts.total());
  }
  const Operation op = begin(Signature(kReduceScatter, type).add(counts, size_).add(kind).add(factor));
  if (count == 0) {
    return meet(op);
  }
  auto* workspace = static_cast<char*>(scratch(reserved + needed)) + reserved;
  if (direct) {
    reduceScatterDirect(op, source, out, parts, workspace, combine, elementSizeOf(type));
  } else {
    reduceScatterRing(op, source, out, parts, workspace, combine, elementSizeOf(type));
  }
  if (kind == kAvg) {
    divideOf(type)(out, out, counts[rank_], size_);
  }
}

// Every rank sends part j to rank j, which reduces what it got.
void Collectives::reduceScatterDirect(
    const Operation& op, const void* in, void* out, const Parts& parts, char* received, Combine combine,
    size_t elementSize) {
  const size_t bytes = parts.bytes(rank_);
  forOthers([&](int i) { op.exchange.with(i, at(in, parts.offset(i)), parts.bytes(i), received + i * bytes, bytes); });
  op.run();
  combineInOrder(at(in, parts.offset(rank_)), out, received, bytes, bytes / elementSize, combine);
}

// Part p starts at rank p + 1 and travels up to rank p, which is the last to add to it. Parts are cut into segments;
// two lanes carry the even and the odd ones, so that one segment moves while the other is reduced.
void Collectives::reduceScatterRing(
    const Operation& op, const void* in, void* out, const Parts& parts, char* lanes, Combine combine,
    size_t elementSize) {
  const int next = (rank_ + 1) % size_;
  const int previous = (rank_ + size_ - 1) % size_;
  const size_t segments = (parts.largest() + kSegmentBytes - 1) / kSegmentBytes;
  const size_t steps = size_ - 1;

  struct Piece {
    size_t offset;
    size_t bytes;
  };
  const auto piece = [&](int part, size_t segment) {
    const size_t begin = std::min(segment * kSegmentBytes, parts.bytes(part));
    const size_t end = std::min(begin + kSegmentBytes, parts.bytes(part));
    return Piece{parts.offset(part) + begin, end - begin};
  };

  struct Lane {
    std::unique_ptr<Transfer> input;   // segments of the input that start their way
    std::unique_ptr<Transfer> halves;  // one half receives while the other is sent
    Transfer* sending = nullptr;
  };
  Lane lane[2];
  for (int i = 0; i < 2; i++) {
    lane[i].input = op.mesh.transfer(in, parts.total());
    lane[i].halves = op.mesh.transfer(lanes + i * 2 * kSegmentBytes, 2 * kSegmentBytes);
  }

  const auto partAt = [&](size_t step) { return static_cast<int>((rank_ + 2 * size_ - 2 - step) % size_); };
  const auto finishSend = [](Lane& l) {
    if (l.sending != nullptr) {
      l.sending->waitSend();
      l.sending = nullptr;
    }
  };
  const auto begin = [&](Lane& l, uint64_t slot, size_t segment, size_t step) {
    finishSend(l);
    const size_t half = (step & 1) * kSegmentBytes;
    l.halves->recv(previous, slot, half, piece(partAt(step), segment).bytes);
    const Piece away = piece((partAt(step) + 1) % size_, segment);
    l.sending = step == 0 ? l.input.get() : l.halves.get();
    l.sending->send(next, slot, step == 0 ? away.offset : kSegmentBytes - half, away.bytes);
  };
  const auto end = [&](Lane& l, int index, size_t segment, size_t step) {
    l.halves->waitRecv();
    char* got = lanes + (index * 2 + (step & 1)) * kSegmentBytes;
    const Piece own = piece(partAt(step), segment);
    void* target = step + 1 == steps ? at(out, own.offset - parts.offset(rank_)) : got;
    combine(target, got, at(in, own.offset), own.bytes / elementSize);
  };

  // Lane i does segments i, i + 2, ...; each takes `steps` rounds.
  const auto rounds = [&](size_t index) { return (segments + 1 - index) / 2 * steps; };
  const auto segmentOf = [&](size_t index, size_t round) { return round / steps * 2 + index; };
  for (size_t i = 0; i < 2; i++) {
    if (rounds(i) > 0) {
      begin(lane[i], op.slot(static_cast<uint32_t>(i)), segmentOf(i, 0), 0);
    }
  }
  for (size_t round = 0; round < rounds(0); round++) {
    for (size_t i = 0; i < 2; i++) {
      if (round < rounds(i)) {
        end(lane[i], static_cast<int>(i), segmentOf(i, round), round % steps);
        if (round + 1 < rounds(i)) {
          begin(lane[i], op.slot(static_cast<uint32_t>(i)), segmentOf(i, round + 1), (round + 1) % steps);
        }
      }
    }
  }
  finishSend(lane[0]);
  finishSend(lane[1]);
}

// Only the two ranks of a pair know how much moves between them, so that is in the slot and not in the tag.
void Collectives::allToAllV(
    const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) {
  const Parts sends(inCounts, size_, elementSizeOf(type));
  const Parts receives(outCounts, size_, elementSizeOf(type));
  if (sends.bytes(rank_) != receives.bytes(rank_)) {
    throw Failure(kInvalid, "this rank's own part differs in size between input and output");
  }
  copy(at(out, receives.offset(rank_)), at(in, sends.offset(rank_)), sends.bytes(rank_));
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(Signature(kAllToAll, type));
  forOthers([&](int i) {
    op.exchange.with(
        i, at(in, sends.offset(i)), sends.bytes(i), at(out, receives.offset(i)), receives.bytes(i));
  });
  op.run();
}

}  // namespace jccl
