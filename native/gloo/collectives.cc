#include <cstring>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce.h>

#include "collectives.h"

namespace jccl {

namespace {

// Up to this much received by a rank, an all-reduce exchanges everything at once. Measured on loopback with 2 and 4
// ranks: the exchange takes a quarter to a half of the ring's time at 64 KiB, and as much at 1 MiB.
constexpr size_t kExchangeBytes = 512 * 1024;

// Up to this total size, a reduce-scatter sends each part straight to its rank. Measured on loopback with 2 ranks: a
// third faster than the ring at 1 MiB, as fast at 4 MiB; the ring needs no memory in proportion to the message.
constexpr size_t kDirectReduceScatterBytes = 2 * 1024 * 1024;

constexpr size_t kSegmentBytes = 1024 * 1024;

// Two lanes of two segments.
constexpr size_t kRingBytes = 4 * kSegmentBytes;

}  // namespace

std::shared_ptr<Mesh> Collectives::makeMesh(std::shared_ptr<tcp::Device> device) const {
  return std::make_shared<Mesh>(std::move(device), rank_, size_, timeout_);
}

uint64_t Collectives::messageSlot(size_t count, int type, int tag) const {
  return slotOf(kPointToPoint, tag, Signature(kSend, type).add(count).bits24());
}

Operation Collectives::begin(const Signature& signature) { return begin(signature, timeout_); }

Operation Collectives::begin(const Signature& signature, Milliseconds timeout) {
  return Operation(*mesh_, tagOf(sequence_++, signature), Clock::now() + timeout);
}

// With nothing to move, ranks still meet, so that one which has something to move is noticed.
void Collectives::meet(const Operation& op) {
  ::gloo::BarrierOptions options(context_);
  options.setTag(op.tag);
  ::gloo::barrier(options);
}

void Collectives::barrier(int64_t timeoutMillis) {
  if (size_ > 1) {
    meet(begin(Signature(kBarrier, 0), std::min(timeout_, Milliseconds(timeoutMillis))));
  }
}

void Collectives::broadcast(void* data, size_t count, int type, int root) {
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(Signature(kBroadcast, type).add(count).add(root));
  if (count == 0) {
    return meet(op);
  }
  ::gloo::BroadcastOptions options(context_);
  options.setOutput<uint8_t>(op.mesh.transfer(data, count * elementSizeOf(type)));
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::broadcast(options);
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
  if (bytes <= kExchangeBytes / (size_ - 1)) {
    exchangeAndReduce(op, in, out, bytes, count, combine);
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

// Every rank sends all it has to every other and reduces by itself, in rank order: one message time instead of the
// ring's 2 (N - 1), for N / 2 times its bytes.
void Collectives::exchangeAndReduce(
    const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine) {
  auto* parts = static_cast<char*>(scratch(bytes * size_));
  auto received = op.mesh.transfer(parts, bytes * size_);
  auto sent = op.mesh.transfer(in, bytes);
  for (int i = 1; i < size_; i++) {
    const int from = (rank_ + size_ - i) % size_;
    received->recv(from, op.slot(0), from * bytes, bytes);
    sent->send((rank_ + i) % size_, op.slot(0), 0, bytes);
  }
  copy(parts + rank_ * bytes, in, bytes);
  for (int i = 1; i < size_; i++) {
    received->waitRecv();
    sent->waitSend();
  }
  combine(out, parts, parts + bytes, count);
  for (int i = 2; i < size_; i++) {
    combine(out, out, parts + i * bytes, count);
  }
}

void Collectives::reduce(
    const void* in, void* out, size_t count, int type, int kind, double factor, int root) {
  const size_t bytes = count * elementSizeOf(type);
  const Combine combine = combiner(type, kind);
  if (size_ > 1 && rank_ != root) {
    out = scratch(bytes);  // gloo's ring needs a place for partial results on every rank
  }
  if (kind == kPremulSum) {
    multiplyOf(type)(out, in, count, factor);
    in = out;
  }
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(Signature(kReduce, type).add(count).add(kind).add(factor).add(root));
  if (count == 0) {
    return meet(op);
  }
  ::gloo::ReduceOptions options(context_);
  setMemory(
      options, in == out ? nullptr : op.mesh.transfer(in, bytes), op.mesh.transfer(out, bytes), elementSizeOf(type));
  options.setReduceFunction(combine);
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::reduce(options);
  if (kind == kAvg && rank_ == root) {
    divideOf(type)(out, out, count, size_);
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
  ::gloo::AllgathervOptions options(context_);
  if (in != at(out, parts.offset(rank_))) {
    options.setInput<uint8_t>(op.mesh.transfer(in, parts.bytes(rank_)));
  }
  options.setOutput<uint8_t>(op.mesh.transfer(out, parts.total()), parts.all());
  options.setTag(op.tag);
  ::gloo::allgatherv(options);
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
    auto sent = op.mesh.transfer(in, part);
    sent->send(root, op.slot(0), 0, part);
    return sent->waitSend();
  }
  auto received = op.mesh.transfer(out, part * size_);
  for (int i = 1; i < size_; i++) {
    const int from = (rank_ + i) % size_;
    received->recv(from, op.slot(0), from * part, part);
  }
  copy(at(out, rank_ * part), in, part);
  for (int i = 1; i < size_; i++) {
    received->waitRecv();
  }
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
    auto received = op.mesh.transfer(out, part);
    received->recv(root, op.slot(0), 0, part);
    return received->waitRecv();
  }
  auto sent = op.mesh.transfer(in, part * size_);
  for (int i = 1; i < size_; i++) {
    const int to = (rank_ + i) % size_;
    sent->send(to, op.slot(0), to * part, part);
  }
  copy(out, at(in, rank_ * part), part);
  for (int i = 1; i < size_; i++) {
    sent->waitSend();
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
  const bool direct = parts.total() <= kDirectReduceScatterBytes;
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

// Every rank sends part j to rank j, which reduces what it got in rank order.
void Collectives::reduceScatterDirect(
    const Operation& op, const void* in, void* out, const Parts& parts, char* received, Combine combine,
    size_t elementSize) {
  const size_t bytes = parts.bytes(rank_);
  auto incoming = op.mesh.transfer(received, bytes * size_);
  auto outgoing = op.mesh.transfer(in, parts.total());
  for (int i = 1; i < size_; i++) {
    const int from = (rank_ + size_ - i) % size_;
    const int to = (rank_ + i) % size_;
    incoming->recv(from, op.slot(0), from * bytes, bytes);
    outgoing->send(to, op.slot(0), parts.offset(to), parts.bytes(to));
  }
  for (int i = 1; i < size_; i++) {
    incoming->waitRecv();
    outgoing->waitSend();
  }
  const auto part = [&](int i) -> const void* {
    return i == rank_ ? at(in, parts.offset(rank_)) : at(received, i * bytes);
  };
  combine(out, part(0), part(1), bytes / elementSize);
  for (int i = 2; i < size_; i++) {
    combine(out, out, part(i), bytes / elementSize);
  }
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
    throw Failure(kInvalid, "this rank's part for itself has another size in the input than in the output");
  }
  copy(at(out, receives.offset(rank_)), at(in, sends.offset(rank_)), sends.bytes(rank_));
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(Signature(kAllToAll, type));
  const auto slot = [&](size_t bytes) {
    return slotOf(kPairwise, op.tag, Signature(kAllToAll, type).add(bytes).bits24());
  };
  auto incoming = op.mesh.transfer(out, receives.total());
  auto outgoing = op.mesh.transfer(in, sends.total());
  for (int i = 1; i < size_; i++) {
    const int from = (rank_ + size_ - i) % size_;
    const int to = (rank_ + i) % size_;
    incoming->recv(from, slot(receives.bytes(from)), receives.offset(from), receives.bytes(from));
    outgoing->send(to, slot(sends.bytes(to)), sends.offset(to), sends.bytes(to));
  }
  op.mesh.begunAll();
  for (int i = 1; i < size_; i++) {
    incoming->waitRecv();
    outgoing->waitSend();
  }
}

}  // namespace jccl
