// The collectives and messages of a communicator. What is larger than one call takes goes in several calls where that is
// possible, else as a derived type.
#include <algorithm>
#include <limits>
#include <numeric>

#include "communicator.h"

namespace jccl {

namespace {

char* at(void* base, int64_t elements, int type) {
  return static_cast<char*>(base) + elements * static_cast<int64_t>(elementSizeOf(type));
}

const char* at(const void* base, int64_t elements, int type) {
  return static_cast<const char*>(base) + elements * static_cast<int64_t>(elementSizeOf(type));
}

int64_t sum(const int64_t* counts, int size) { return std::accumulate(counts, counts + size, int64_t{0}); }

// Counts and places for MPI's forms with parts of different sizes, in elements.
void fill(std::vector<int>& to, std::vector<int>& places, const int64_t* counts, int size) {
  to.assign(counts, counts + size);
  places.resize(static_cast<size_t>(size));
  int64_t place = 0;
  for (int i = 0; i < size; i++) {
    places[static_cast<size_t>(i)] = static_cast<int>(place);
    place += counts[i];
  }
}

}  // namespace

// Messages of another type do not match where that is checked, nor do long and short ones where long ones are looked at.
int Communicator::tagOf(int tag, int64_t count, int type) const {
  const int typed = mode_.checked ? tag * kCheckedTags + type : tag;
  return tagsTellLength_ ? 2 * typed + (isLong(count, type) ? 1 : 0) : typed;
}

// Members that are not Java make one call of whatever an int can count.
int64_t Communicator::mostOfOneCall(int type) const {
  return owned_ ? largestCall / static_cast<int64_t>(elementSizeOf(type)) : std::numeric_limits<int>::max();
}

// Has each part that one call takes moved, an empty one too: where it begins, and how many elements it has.
template <typename Move>
void Communicator::inParts(int64_t count, int type, Move&& move) const {
  const int64_t most = mostOfOneCall(type);
  int64_t done = 0;
  do {
    move(done, static_cast<int>(std::min(most, count - done)));
    done += most;
  } while (done < count);
}

Communicator::Elements Communicator::elements(Operation& o, int64_t count, int type) {
  if (isLarge(count, type)) {
    return {1, o.own(blockOf(type, count))};
  }
  return {static_cast<int>(count), datatypeOf(type)};
}

const void* Communicator::premultiplied(
    Operation& o, const void* in, int64_t count, int type, int kind, double factor) {
  if (kind != kPremulSum) {
    return in;
  }
  o.scratch.resize(static_cast<size_t>(count) * elementSizeOf(type));
  multiplyOf(type)(o.scratch.data(), in, static_cast<size_t>(count), factor);
  return o.scratch.data();
}

void Communicator::averageLater(Operation& o, void* sum, int64_t count, int type, int kind) {
  if (kind == kAvg) {
    o.type = type;
    o.sum = sum;
    o.sumCount = count;
  }
}

void Communicator::barrier(Operation& o) { issue(o, "MPI_Barrier", MPI_Barrier, MPI_Ibarrier); }

void Communicator::broadcast(Operation& o, void* data, int64_t count, int type, int root) {
  inParts(count, type, [&](int64_t begin, int length) {
    issue(o, "MPI_Bcast", MPI_Bcast, MPI_Ibcast, at(data, begin, type), length, datatypeOf(type), root);
  });
}

void Communicator::allReduce(Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor) {
  const void* from = in == out ? MPI_IN_PLACE : in;
  if (kind == kPremulSum) {
    multiplyOf(type)(out, in, static_cast<size_t>(count), factor);
    from = MPI_IN_PLACE;
  }
  averageLater(o, out, count, type, kind);
  inParts(count, type, [&](int64_t begin, int length) {
    issue(
        o, "MPI_Allreduce", MPI_Allreduce, MPI_Iallreduce, from == MPI_IN_PLACE ? from : at(from, begin, type),
        at(out, begin, type), length, datatypeOf(type), operationOf(type, kind, !owned_));
  });
}

void Communicator::reducePart(
    Operation& o, const void* in, void* out, int64_t count, int type, int kind, int root) {
  inParts(count, type, [&](int64_t begin, int length) {
    const void* from = rank_ == root && in == out ? MPI_IN_PLACE : at(in, begin, type);
    issue(
        o, "MPI_Reduce", MPI_Reduce, MPI_Ireduce, from, rank_ == root ? at(out, begin, type) : nullptr, length,
        datatypeOf(type), operationOf(type, kind, !owned_), root);
  });
}

void Communicator::reduce(
    Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor, int root) {
  if (rank_ == root) {
    averageLater(o, out, count, type, kind);
  }
  reducePart(o, premultiplied(o, in, count, type, kind, factor), out, count, type, kind, root);
}

void Communicator::allGather(Operation& o, void* in, void* out, int64_t count, int type) {
  const auto e = elements(o, count, type);
  const void* from = in == at(out, rank_ * count, type) ? MPI_IN_PLACE : in;
  issue(o, "MPI_Allgather", MPI_Allgather, MPI_Iallgather, from, e.count, e.type, out, e.count, e.type);
}

void Communicator::allGatherV(Operation& o, void* in, void* out, const int64_t* counts, int type) {
  char* mine = at(out, sum(counts, rank_), type);
  if (isLarge(sum(counts, size_), type)) {
    if (in != mine) {
      // To itself, since the memory may be a device's; with a tag that no user has.
      const auto e = elements(o, counts[rank_], type);
      check(
          MPI_Sendrecv(
              in, e.count, e.type, rank_, largestTag(), mine, e.count, e.type, rank_, largestTag(), comm_,
              MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    }
    for (int root = 0; root < size_; root++) {
      broadcast(o, at(out, sum(counts, root), type), counts[root], type, root);
    }
    return;
  }
  fill(o.receiveCounts, o.receivePlaces, counts, size_);
  const void* from = in == mine ? MPI_IN_PLACE : in;
  issue(
      o, "MPI_Allgatherv", MPI_Allgatherv, MPI_Iallgatherv, from, static_cast<int>(counts[rank_]), datatypeOf(type),
      out, o.receiveCounts.data(), o.receivePlaces.data(), datatypeOf(type));
}

// Equal parts for MPI's forms with parts of different sizes, each one element of a type of its own.
MPI_Datatype Communicator::wholeParts(Operation& o, int64_t count, int type) {
  o.receiveCounts.assign(static_cast<size_t>(size_), 1);
  o.receivePlaces.resize(static_cast<size_t>(size_));
  std::iota(o.receivePlaces.begin(), o.receivePlaces.end(), 0);
  return o.own(blockOf(type, count));
}

void Communicator::gather(Operation& o, void* in, void* out, int64_t count, int type, int root) {
  const void* from = rank_ == root && in == at(out, rank_ * count, type) ? MPI_IN_PLACE : in;
  if (owned_ && isLarge(count * size_, type)) {
    const auto part = wholeParts(o, count, type);
    issue(
        o, "MPI_Gatherv", MPI_Gatherv, MPI_Igatherv, from, 1, part, out, o.receiveCounts.data(),
        o.receivePlaces.data(), part, root);
    return;
  }
  const auto e = elements(o, count, type);
  issue(o, "MPI_Gather", MPI_Gather, MPI_Igather, from, e.count, e.type, out, e.count, e.type, root);
}

// MPICH 4.0.2 crashes in MPI_Scatter when all parts together have 2 GiB.
void Communicator::scatter(Operation& o, void* in, void* out, int64_t count, int type, int root) {
  void* to = rank_ == root && out == at(in, rank_ * count, type) ? MPI_IN_PLACE : out;
  if (owned_ && isLarge(count * size_, type)) {
    const auto part = wholeParts(o, count, type);
    issue(
        o, "MPI_Scatterv", MPI_Scatterv, MPI_Iscatterv, in, o.receiveCounts.data(), o.receivePlaces.data(), part, to, 1,
        part, root);
    return;
  }
  const auto e = elements(o, count, type);
  issue(o, "MPI_Scatter", MPI_Scatter, MPI_Iscatter, in, e.count, e.type, to, e.count, e.type, root);
}

void Communicator::reduceScatter(
    Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor) {
  if (isLarge(owned_ ? count * size_ : count, type)) {
    const std::vector<int64_t> counts(static_cast<size_t>(size_), count);
    reduceScatterV(o, in, out, counts.data(), type, kind, factor);
    return;
  }
  averageLater(o, out, count, type, kind);
  issue(
      o, "MPI_Reduce_scatter_block", MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
      premultiplied(o, in, count * size_, type, kind, factor), out, static_cast<int>(count), datatypeOf(type),
      operationOf(type, kind, !owned_));
}

void Communicator::reduceScatterV(
    Operation& o, void* in, void* out, const int64_t* counts, int type, int kind, double factor) {
  const int64_t total = sum(counts, size_);
  averageLater(o, out, counts[rank_], type, kind);
  const void* from = premultiplied(o, in, total, type, kind, factor);
  if (isLarge(total, type)) {
    for (int root = 0; root < size_; root++) {
      reducePart(o, at(from, sum(counts, root), type), out, counts[root], type, kind, root);
    }
    return;
  }
  o.receiveCounts.assign(counts, counts + size_);
  issue(
      o, "MPI_Reduce_scatter", MPI_Reduce_scatter, MPI_Ireduce_scatter, from, out, o.receiveCounts.data(),
      datatypeOf(type), operationOf(type, kind, !owned_));
}

void Communicator::allToAll(Operation& o, void* in, void* out, int64_t count, int type) {
  const auto e = elements(o, count, type);
  issue(o, "MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, in, e.count, e.type, out, e.count, e.type);
}

// One side of MPI_Alltoallw: places are int bytes there, so parts that lie further away carry their place in their type.
void Communicator::place(
    Operation& o, const int64_t* counts, int type, std::vector<int>& sizes, std::vector<int>& places,
    std::vector<MPI_Datatype>& types) {
  const auto ranks = static_cast<size_t>(size_);
  sizes.resize(ranks);
  places.resize(ranks);
  types.resize(ranks);
  int64_t place = 0;
  for (size_t i = 0; i < ranks; i++) {
    auto e = elements(o, counts[i], type);
    if (place > largestCall) {
      const int length = e.count;
      const MPI_Aint distance = place;
      MPI_Datatype placed;
      check(MPI_Type_create_hindexed(1, &length, &distance, e.type, &placed), "MPI_Type_create_hindexed");
      o.own(placed);
      check(MPI_Type_commit(&placed), "MPI_Type_commit");
      e = {1, placed};
    }
    sizes[i] = e.count;
    places[i] = place > largestCall ? 0 : static_cast<int>(place);
    types[i] = e.type;
    place += counts[i] * static_cast<int64_t>(elementSizeOf(type));
  }
}

// Ranks do not know one another's counts, so all of them use the call that can take large ones.
void Communicator::allToAllV(
    Operation& o, void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) {
  place(o, inCounts, type, o.sendCounts, o.sendPlaces, o.sendTypes);
  place(o, outCounts, type, o.receiveCounts, o.receivePlaces, o.receiveTypes);
  issue(
      o, "MPI_Alltoallw", MPI_Alltoallw, MPI_Ialltoallw, in, o.sendCounts.data(), o.sendPlaces.data(),
      o.sendTypes.data(), out, o.receiveCounts.data(), o.receivePlaces.data(), o.receiveTypes.data());
}

void Communicator::startSend(Operation& o, void* data, int64_t count, int type, int peer, int tag) {
  const auto e = elements(o, count, type);
  // A checked send is not over before the receive began, so that a pair that does not match is seen on both sides.
  if (mode_.checked) {
    issue(o, "MPI_Ssend", MPI_Ssend, MPI_Issend, data, e.count, e.type, peer, tag);
  } else {
    issue(o, "MPI_Send", MPI_Send, MPI_Isend, data, e.count, e.type, peer, tag);
  }
}

void Communicator::startReceive(Operation& o) {
  const auto e = elements(o, o.expected, o.type);
  const int code = MPI_Irecv(o.data, e.count, e.type, o.peer, o.tag, comm_, o.next());
  if (code != MPI_SUCCESS) {
    o.requests.pop_back();
    check(code, "MPI_Irecv");
  }
}

// Returns false when no message is there. One that is too long goes elsewhere, so that its sender gets rid of it; that it
// is too long is told when it is complete.
bool Communicator::startMatchedReceive(Operation& o) {
  int there = 0;
  MPI_Message message;
  MPI_Status status;
  check(MPI_Improbe(o.peer, o.tag, comm_, &there, &message, &status), "MPI_Improbe");
  if (!there) {
    return false;
  }
  MPI_Count bytes = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  const bool fits = bytes <= o.expected * static_cast<int64_t>(elementSizeOf(o.type));
  if (!fits) {
    o.scratch.resize(static_cast<size_t>(bytes));
  }
  const auto e = fits ? elements(o, o.expected, o.type) : elements(o, bytes, kInt8);
  const int code = MPI_Imrecv(fits ? o.data : o.scratch.data(), e.count, e.type, &message, o.next());
  if (code != MPI_SUCCESS) {
    o.requests.pop_back();
    check(code, "MPI_Imrecv");
  }
  return true;
}

void Communicator::issueCollective(Operation& o, const Call& c) {
  switch (c.what) {
    case kBarrier:
      return barrier(o);
    case kBroadcast:
      return broadcast(o, c.out, c.count, c.type, c.root);
    case kAllReduce:
      return allReduce(o, c.in, c.out, c.count, c.type, c.kind, c.factor);
    case kReduce:
      return reduce(o, c.in, c.out, c.count, c.type, c.kind, c.factor, c.root);
    case kAllGather:
      return allGather(o, c.in, c.out, c.count, c.type);
    case kAllGatherV:
      return allGatherV(o, c.in, c.out, c.outCounts, c.type);
    case kGather:
      return gather(o, c.in, c.out, c.count, c.type, c.root);
    case kScatter:
      return scatter(o, c.in, c.out, c.count, c.type, c.root);
    case kReduceScatter:
      return reduceScatter(o, c.in, c.out, c.count, c.type, c.kind, c.factor);
    case kReduceScatterV:
      return reduceScatterV(o, c.in, c.out, c.inCounts, c.type, c.kind, c.factor);
    case kAllToAll:
      return allToAll(o, c.in, c.out, c.count, c.type);
    case kAllToAllV:
      return allToAllV(o, c.in, c.out, c.inCounts, c.outCounts, c.type);
  }
}

}  // namespace jccl
