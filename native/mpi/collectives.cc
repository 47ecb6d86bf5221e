// The collectives and messages of a communicator. What is larger than one call takes goes in several calls where that is
// possible, else as a derived type.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

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

// Members that are not Java make the call that blocks, with which the other one does not match.
int reduceOfSharedWorld(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm comm) {
  return MPI_Reduce(in, out, count, type, operation, root, comm);
}

// MPICH 4.0.2 crashes in MPI_Reduce where another rank than 0 reduces 64 KiB in place, and only it knows that it does.
int reduceAndWait(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm comm) {
  if (isOpenMpi()) {
    return MPI_Reduce(in, out, count, type, operation, root, comm);
  }
  MPI_Request request;
  const int code = MPI_Ireduce(in, out, count, type, operation, root, comm, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

}  // namespace

// Messages of another type do not match where that is checked, nor do long and short ones where long ones are looked at.
int Communicator::tagOf(int tag, int64_t count, int type) const {
  const int typed = options_.checked ? tag * kCheckedTags + type : tag;
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

const void* Communicator::premultiplied(Operation& o, const Call& c, int64_t count) {
  if (c.kind != kPremulSum) {
    return c.in;
  }
  o.scratch.resize(static_cast<size_t>(count) * elementSizeOf(c.type));
  multiplyOf(c.type)(o.scratch.data(), c.in, static_cast<size_t>(count), c.factor);
  return o.scratch.data();
}

void Communicator::averageLater(Operation& o, const Call& c, int64_t count) {
  if (c.kind == kAvg) {
    o.type = c.type;
    o.sum = c.out;
    o.sumCount = count;
  }
}

void Communicator::barrier(Operation& o) { issue(o, "MPI_Barrier", MPI_Barrier, MPI_Ibarrier); }

void Communicator::broadcast(Operation& o, void* data, int64_t count, int type, int root) {
  inParts(count, type, [&](int64_t begin, int length) {
    issue(o, "MPI_Bcast", MPI_Bcast, MPI_Ibcast, at(data, begin, type), length, datatypeOf(type), root);
  });
}

void Communicator::allReduce(Operation& o, const Call& c) {
  const void* from = c.in == c.out ? MPI_IN_PLACE : c.in;
  if (c.kind == kPremulSum) {
    multiplyOf(c.type)(c.out, c.in, static_cast<size_t>(c.count), c.factor);
    from = MPI_IN_PLACE;
  }
  averageLater(o, c, c.count);
  inParts(c.count, c.type, [&](int64_t begin, int length) {
    issue(
        o, "MPI_Allreduce", MPI_Allreduce, MPI_Iallreduce, from == MPI_IN_PLACE ? from : at(from, begin, c.type),
        at(c.out, begin, c.type), length, datatypeOf(c.type), operationOf(c.type, c.kind, !owned_));
  });
}

// All of a reduction, or the part of it that goes to one rank.
void Communicator::reduceTo(Operation& o, const Call& c, int root, const void* in, int64_t count) {
  const auto blocking = owned_ ? reduceAndWait : reduceOfSharedWorld;
  inParts(count, c.type, [&](int64_t begin, int length) {
    const void* from = rank_ == root && in == c.out ? MPI_IN_PLACE : at(in, begin, c.type);
    void* to = rank_ == root ? at(c.out, begin, c.type) : nullptr;
    issue(
        o, "MPI_Reduce", blocking, MPI_Ireduce, from, to, length, datatypeOf(c.type),
        operationOf(c.type, c.kind, !owned_), root);
  });
}

void Communicator::reduce(Operation& o, const Call& c) {
  if (rank_ == c.root) {
    averageLater(o, c, c.count);
  }
  reduceTo(o, c, c.root, premultiplied(o, c, c.count), c.count);
}

void Communicator::allGather(Operation& o, const Call& c) {
  const auto e = elements(o, c.count, c.type);
  const void* from = c.in == at(c.out, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.in;
  issue(o, "MPI_Allgather", MPI_Allgather, MPI_Iallgather, from, e.count, e.type, c.out, e.count, e.type);
}

void Communicator::allGatherV(Operation& o, const Call& c) {
  const int64_t* counts = c.outCounts;
  char* mine = at(c.out, sum(counts, rank_), c.type);
  if (isLarge(sum(counts, size_), c.type)) {
    if (c.in != mine) {
      // To itself, since the memory may be a device's; with a tag that no user has.
      const auto e = elements(o, counts[rank_], c.type);
      check(
          MPI_Sendrecv(
              c.in, e.count, e.type, rank_, largestTag(), mine, e.count, e.type, rank_, largestTag(), comm_,
              MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    }
    for (int root = 0; root < size_; root++) {
      broadcast(o, at(c.out, sum(counts, root), c.type), counts[root], c.type, root);
    }
    return;
  }
  fill(o.receiveCounts, o.receivePlaces, counts, size_);
  const void* from = c.in == mine ? MPI_IN_PLACE : c.in;
  issue(
      o, "MPI_Allgatherv", MPI_Allgatherv, MPI_Iallgatherv, from, static_cast<int>(counts[rank_]), datatypeOf(c.type),
      c.out, o.receiveCounts.data(), o.receivePlaces.data(), datatypeOf(c.type));
}

// Equal parts for MPI's forms with parts of different sizes, each one element of a type of its own.
MPI_Datatype Communicator::wholeParts(Operation& o, int64_t count, int type) {
  o.receiveCounts.assign(static_cast<size_t>(size_), 1);
  o.receivePlaces.resize(static_cast<size_t>(size_));
  std::iota(o.receivePlaces.begin(), o.receivePlaces.end(), 0);
  return o.own(blockOf(type, count));
}

void Communicator::gather(Operation& o, const Call& c) {
  const void* from = rank_ == c.root && c.in == at(c.out, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.in;
  if (owned_ && isLarge(WideCount{c.count} * size_, c.type)) {
    const auto part = wholeParts(o, c.count, c.type);
    issue(
        o, "MPI_Gatherv", MPI_Gatherv, MPI_Igatherv, from, 1, part, c.out, o.receiveCounts.data(),
        o.receivePlaces.data(), part, c.root);
    return;
  }
  const auto e = elements(o, c.count, c.type);
  issue(o, "MPI_Gather", MPI_Gather, MPI_Igather, from, e.count, e.type, c.out, e.count, e.type, c.root);
}

// MPICH 4.0.2 crashes in MPI_Scatter when all parts together have 2 GiB.
void Communicator::scatter(Operation& o, const Call& c) {
  void* to = rank_ == c.root && c.out == at(c.in, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.out;
  if (owned_ && isLarge(WideCount{c.count} * size_, c.type)) {
    const auto part = wholeParts(o, c.count, c.type);
    issue(
        o, "MPI_Scatterv", MPI_Scatterv, MPI_Iscatterv, c.in, o.receiveCounts.data(), o.receivePlaces.data(), part, to,
        1, part, c.root);
    return;
  }
  const auto e = elements(o, c.count, c.type);
  issue(o, "MPI_Scatter", MPI_Scatter, MPI_Iscatter, c.in, e.count, e.type, to, e.count, e.type, c.root);
}

void Communicator::reduceScatter(Operation& o, const Call& c) {
  if (isLarge(owned_ ? WideCount{c.count} * size_ : c.count, c.type)) {
    const std::vector<int64_t> counts(static_cast<size_t>(size_), c.count);
    Call parts = c;
    parts.inCounts = counts.data();
    return reduceScatterV(o, parts);
  }
  averageLater(o, c, c.count);
  issue(
      o, "MPI_Reduce_scatter_block", MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
      premultiplied(o, c, c.count * size_), c.out, static_cast<int>(c.count), datatypeOf(c.type),
      operationOf(c.type, c.kind, !owned_));
}

void Communicator::reduceScatterV(Operation& o, const Call& c) {
  const int64_t* counts = c.inCounts;
  const int64_t total = sum(counts, size_);
  averageLater(o, c, counts[rank_]);
  const void* from = premultiplied(o, c, total);
  if (isLarge(total, c.type)) {
    for (int root = 0; root < size_; root++) {
      reduceTo(o, c, root, at(from, sum(counts, root), c.type), counts[root]);
    }
    return;
  }
  o.receiveCounts.assign(counts, counts + size_);
  issue(
      o, "MPI_Reduce_scatter", MPI_Reduce_scatter, MPI_Ireduce_scatter, from, c.out, o.receiveCounts.data(),
      datatypeOf(c.type), operationOf(c.type, c.kind, !owned_));
}

void Communicator::allToAll(Operation& o, const Call& c) {
  const auto e = elements(o, c.count, c.type);
  issue(o, "MPI_Alltoall", MPI_Alltoall, MPI_Ialltoall, c.in, e.count, e.type, c.out, e.count, e.type);
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
void Communicator::allToAllV(Operation& o, const Call& c) {
  place(o, c.inCounts, c.type, o.sendCounts, o.sendPlaces, o.sendTypes);
  place(o, c.outCounts, c.type, o.receiveCounts, o.receivePlaces, o.receiveTypes);
  issue(
      o, "MPI_Alltoallw", MPI_Alltoallw, MPI_Ialltoallw, c.in, o.sendCounts.data(), o.sendPlaces.data(),
      o.sendTypes.data(), c.out, o.receiveCounts.data(), o.receivePlaces.data(), o.receiveTypes.data());
}

void Communicator::startSend(Operation& o, void* data, int64_t count, int type, int peer, int tag) {
  const auto e = elements(o, count, type);
  // A checked send is not over before the receive began, so that a pair that does not match is seen on both sides.
  if (options_.checked) {
    start(o, "MPI_Issend", MPI_Issend, data, e.count, e.type, peer, tag);
  } else {
    start(o, "MPI_Isend", MPI_Isend, data, e.count, e.type, peer, tag);
  }
}

void Communicator::startReceive(Operation& o) {
  const auto e = elements(o, o.expected, o.type);
  start(o, "MPI_Irecv", MPI_Irecv, o.data, e.count, e.type, o.peer, o.tag);
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
  const bool fits = bytes <= WideCount{o.expected} * elementSizeOf(o.type);
  if (!fits) {
    try {
      o.scratch.resize(static_cast<size_t>(bytes));
    } catch (const std::exception&) {
      // Its sender keeps it until the group is given up there too.
      throw Failure(
          kMismatch, "the message from rank " + std::to_string(status.MPI_SOURCE) + " has " + std::to_string(bytes) +
                         " bytes, not " + std::to_string(o.expected) + " elements, and they do not fit in memory");
    }
  }
  const auto e = fits ? elements(o, o.expected, o.type) : elements(o, bytes, kInt8);
  const int code = MPI_Imrecv(fits ? o.data : o.scratch.data(), e.count, e.type, &message, o.next());
  if (code != MPI_SUCCESS) {
    o.requests.pop_back();
    check(code, "MPI_Imrecv");
  }
  return true;
}

void Communicator::issueCollective(Operation& o) {
  const Call& c = o.call;
  switch (c.what) {
    case kBroadcast:
      return broadcast(o, c.out, c.count, c.type, c.root);
    case kAllReduce:
      return allReduce(o, c);
    case kReduce:
      return reduce(o, c);
    case kAllGather:
      return allGather(o, c);
    case kAllGatherV:
      return allGatherV(o, c);
    case kGather:
      return gather(o, c);
    case kScatter:
      return scatter(o, c);
    case kReduceScatter:
      return reduceScatter(o, c);
    case kReduceScatterV:
      return reduceScatterV(o, c);
    case kAllToAll:
      return allToAll(o, c);
    case kAllToAllV:
      return allToAllV(o, c);
    case kBarrier:
      return barrier(o);
    case kSend:
    case kRecv:
      break;  // no collectives
  }
}

}  // namespace jccl
