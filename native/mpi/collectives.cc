// The calls of the library for collectives and messages. What is larger than one call takes goes in several calls where that is
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

// MPICH 4.0.2 crashes in MPI_Reduce where another rank than 0 reduces 64 KiB in place, and only it knows that it does.
// Memory of devices cannot be copied here, so all ranks make the other call.
int reduceOnDevices(
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

MPI_Datatype Communicator::own(MPI_Datatype made) {
  work_.ownTypes.push_back(made);
  return made;
}

Communicator::Elements Communicator::elements(int64_t count, int type) {
  if (isLarge(count, type)) {
    return {1, own(blockOf(type, count))};
  }
  return {static_cast<int>(count), datatypeOf(type)};
}

Communicator::Elements Communicator::elements(Message& m, int64_t count, int type) const {
  if (isLarge(count, type)) {
    m.ownType = blockOf(type, count);
    m.ownsType = true;
    return {1, m.ownType};
  }
  return {static_cast<int>(count), datatypeOf(type)};
}

const void* Communicator::premultiplied(const Call& c, int64_t count) {
  if (c.kind != kPremulSum) {
    return c.in;
  }
  work_.scratch.resize(static_cast<size_t>(count) * elementSizeOf(c.type));
  multiplyOf(c.type)(work_.scratch.data(), c.in, static_cast<size_t>(count), c.factor);
  return work_.scratch.data();
}

// An average is a sum until here.
void Communicator::divide(const Call& c, int64_t count) const {
  if (c.kind == kAvg) {
    divideOf(c.type)(c.out, c.out, static_cast<size_t>(count), size_);
  }
}

void Communicator::broadcast(void* data, int64_t count, int type, int root) {
  inParts(count, type, [&](int64_t begin, int length) {
    issue("MPI_Bcast", MPI_Bcast, at(data, begin, type), length, datatypeOf(type), root);
  });
}

void Communicator::allReduce(const Call& c) {
  const void* from = c.in == c.out ? MPI_IN_PLACE : c.in;
  if (c.kind == kPremulSum) {
    multiplyOf(c.type)(c.out, c.in, static_cast<size_t>(c.count), c.factor);
    from = MPI_IN_PLACE;
  }
  inParts(c.count, c.type, [&](int64_t begin, int length) {
    issue(
        "MPI_Allreduce", MPI_Allreduce, from == MPI_IN_PLACE ? from : at(from, begin, c.type),
        at(c.out, begin, c.type), length, datatypeOf(c.type), operationOf(c.type, c.kind, !owned_));
  });
  divide(c, c.count);
}

// All of a reduction, or the part of it that goes to one rank.
void Communicator::reduceTo(const Call& c, int root, const void* in, int64_t count) {
  inParts(count, c.type, [&](int64_t begin, int length) {
    const void* from = at(in, begin, c.type);
    void* to = rank_ == root ? at(c.out, begin, c.type) : nullptr;
    const bool inPlace = rank_ == root && from == to;
    if (inPlace && rank_ != 0 && !isOpenMpi() && !options_.onDevice) {
      const auto* bytes = static_cast<const char*>(from);
      work_.scratch.assign(bytes, at(bytes, length, c.type));
      from = work_.scratch.data();
    } else if (inPlace) {
      from = MPI_IN_PLACE;
    }
    issue(
        "MPI_Reduce", options_.onDevice ? reduceOnDevices : MPI_Reduce, from, to, length, datatypeOf(c.type),
        operationOf(c.type, c.kind, !owned_), root);
  });
}

void Communicator::reduce(const Call& c) {
  reduceTo(c, c.root, premultiplied(c, c.count), c.count);
  if (rank_ == c.root) {
    divide(c, c.count);
  }
}

void Communicator::allGather(const Call& c) {
  const auto e = elements(c.count, c.type);
  const void* from = c.in == at(c.out, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.in;
  issue("MPI_Allgather", MPI_Allgather, from, e.count, e.type, c.out, e.count, e.type);
}

void Communicator::allGatherV(const Call& c) {
  const int64_t* counts = c.outCounts;
  char* mine = at(c.out, sum(counts, rank_), c.type);
  if (isLarge(sum(counts, size_), c.type)) {
    if (c.in != mine) {
      // To itself, since the memory may be a device's; with a tag that no user has.
      const auto e = elements(counts[rank_], c.type);
      check(
          MPI_Sendrecv(
              c.in, e.count, e.type, rank_, largestTag(), mine, e.count, e.type, rank_, largestTag(), comm_,
              MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    }
    for (int root = 0; root < size_; root++) {
      broadcast(at(c.out, sum(counts, root), c.type), counts[root], c.type, root);
    }
    return;
  }
  fill(work_.receiveCounts, work_.receivePlaces, counts, size_);
  const void* from = c.in == mine ? MPI_IN_PLACE : c.in;
  issue(
      "MPI_Allgatherv", MPI_Allgatherv, from, static_cast<int>(counts[rank_]), datatypeOf(c.type), c.out,
      work_.receiveCounts.data(), work_.receivePlaces.data(), datatypeOf(c.type));
}

// Equal parts for MPI's forms with parts of different sizes, each one element of a type of its own.
MPI_Datatype Communicator::wholeParts(int64_t count, int type) {
  work_.receiveCounts.assign(static_cast<size_t>(size_), 1);
  work_.receivePlaces.resize(static_cast<size_t>(size_));
  std::iota(work_.receivePlaces.begin(), work_.receivePlaces.end(), 0);
  return own(blockOf(type, count));
}

void Communicator::gather(const Call& c) {
  const void* from = rank_ == c.root && c.in == at(c.out, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.in;
  if (owned_ && isLarge(WideCount{c.count} * size_, c.type)) {
    const auto part = wholeParts(c.count, c.type);
    issue(
        "MPI_Gatherv", MPI_Gatherv, from, 1, part, c.out, work_.receiveCounts.data(), work_.receivePlaces.data(), part,
        c.root);
    return;
  }
  const auto e = elements(c.count, c.type);
  issue("MPI_Gather", MPI_Gather, from, e.count, e.type, c.out, e.count, e.type, c.root);
}

// MPICH 4.0.2 crashes in MPI_Scatter when all parts together have 2 GiB.
void Communicator::scatter(const Call& c) {
  void* to = rank_ == c.root && c.out == at(c.in, rank_ * c.count, c.type) ? MPI_IN_PLACE : c.out;
  if (owned_ && isLarge(WideCount{c.count} * size_, c.type)) {
    const auto part = wholeParts(c.count, c.type);
    issue(
        "MPI_Scatterv", MPI_Scatterv, c.in, work_.receiveCounts.data(), work_.receivePlaces.data(), part, to, 1, part,
        c.root);
    return;
  }
  const auto e = elements(c.count, c.type);
  issue("MPI_Scatter", MPI_Scatter, c.in, e.count, e.type, to, e.count, e.type, c.root);
}

void Communicator::reduceScatter(const Call& c) {
  if (isLarge(owned_ ? WideCount{c.count} * size_ : c.count, c.type)) {
    const std::vector<int64_t> counts(static_cast<size_t>(size_), c.count);
    Call parts = c;
    parts.inCounts = counts.data();
    return reduceScatterV(parts);
  }
  issue(
      "MPI_Reduce_scatter_block", MPI_Reduce_scatter_block, premultiplied(c, c.count * size_), c.out,
      static_cast<int>(c.count), datatypeOf(c.type), operationOf(c.type, c.kind, !owned_));
  divide(c, c.count);
}

void Communicator::reduceScatterV(const Call& c) {
  const int64_t* counts = c.inCounts;
  const int64_t total = sum(counts, size_);
  const void* from = premultiplied(c, total);
  if (isLarge(total, c.type)) {
    for (int root = 0; root < size_; root++) {
      reduceTo(c, root, at(from, sum(counts, root), c.type), counts[root]);
    }
  } else {
    work_.receiveCounts.assign(counts, counts + size_);
    issue(
        "MPI_Reduce_scatter", MPI_Reduce_scatter, from, c.out, work_.receiveCounts.data(), datatypeOf(c.type),
        operationOf(c.type, c.kind, !owned_));
  }
  divide(c, counts[rank_]);
}

void Communicator::allToAll(const Call& c) {
  const auto e = elements(c.count, c.type);
  issue("MPI_Alltoall", MPI_Alltoall, c.in, e.count, e.type, c.out, e.count, e.type);
}

// One side of MPI_Alltoallw: places are int bytes there, so parts that lie further away carry their place in their type.
void Communicator::place(
    const int64_t* counts, int type, std::vector<int>& sizes, std::vector<int>& places,
    std::vector<MPI_Datatype>& types) {
  const auto ranks = static_cast<size_t>(size_);
  sizes.resize(ranks);
  places.resize(ranks);
  types.resize(ranks);
  int64_t place = 0;
  for (size_t i = 0; i < ranks; i++) {
    auto e = elements(counts[i], type);
    if (place > largestCall) {
      const int length = e.count;
      const MPI_Aint distance = place;
      MPI_Datatype placed;
      check(MPI_Type_create_hindexed(1, &length, &distance, e.type, &placed), "MPI_Type_create_hindexed");
      own(placed);
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
void Communicator::allToAllV(const Call& c) {
  place(c.inCounts, c.type, work_.sendCounts, work_.sendPlaces, work_.sendTypes);
  place(c.outCounts, c.type, work_.receiveCounts, work_.receivePlaces, work_.receiveTypes);
  issue(
      "MPI_Alltoallw", MPI_Alltoallw, c.in, work_.sendCounts.data(), work_.sendPlaces.data(), work_.sendTypes.data(),
      c.out, work_.receiveCounts.data(), work_.receivePlaces.data(), work_.receiveTypes.data());
}

void Communicator::startSend(Message& m, void* data, int64_t count, int type, int peer) {
  const auto e = elements(m, count, type);
  // A checked send is not over before the receive began, so that a pair that does not match is seen on both sides.
  if (options_.checked) {
    check(MPI_Issend(data, e.count, e.type, peer, m.tag, comm_, &m.request), "MPI_Issend");
  } else {
    check(MPI_Isend(data, e.count, e.type, peer, m.tag, comm_, &m.request), "MPI_Isend");
  }
}

void Communicator::startReceive(Message& m) {
  const auto e = elements(m, m.expected, m.type);
  check(MPI_Irecv(m.data, e.count, e.type, m.peer, m.tag, comm_, &m.request), "MPI_Irecv");
}

// Returns false when no message is there. One that is too long goes elsewhere, so that its sender gets rid of it; that it
// is too long is told when it is complete.
bool Communicator::startMatchedReceive(Message& m) {
  int there = 0;
  MPI_Message message;
  MPI_Status status;
  check(MPI_Improbe(m.peer, m.tag, comm_, &there, &message, &status), "MPI_Improbe");
  if (!there) {
    return false;
  }
  MPI_Count bytes = 0;
  check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  const bool fits = bytes <= WideCount{m.expected} * elementSizeOf(m.type);
  if (!fits) {
    try {
      m.scratch.resize(static_cast<size_t>(bytes));
    } catch (const std::exception&) {
      // Its sender keeps it until the group is given up there tom.
      throw Failure(
          kMismatch, "the message from rank " + std::to_string(status.MPI_SOURCE) + " has " + std::to_string(bytes) +
                         " bytes, not " + std::to_string(m.expected) + " elements, and they do not fit in memory");
    }
  }
  const auto e = fits ? elements(m, m.expected, m.type) : elements(m, bytes, kInt8);
  check(MPI_Imrecv(fits ? m.data : m.scratch.data(), e.count, e.type, &message, &m.request), "MPI_Imrecv");
  return true;
}

void Communicator::make(const Call& c) {
  switch (c.what) {
    case kBroadcast:
      return broadcast(c.out, c.count, c.type, c.root);
    case kAllReduce:
      return allReduce(c);
    case kReduce:
      return reduce(c);
    case kAllGather:
      return allGather(c);
    case kAllGatherV:
      return allGatherV(c);
    case kGather:
      return gather(c);
    case kScatter:
      return scatter(c);
    case kReduceScatter:
      return reduceScatter(c);
    case kReduceScatterV:
      return reduceScatterV(c);
    case kAllToAll:
      return allToAll(c);
    case kAllToAllV:
      return allToAllV(c);
    case kBarrier:
      return issue("MPI_Barrier", MPI_Barrier);
    case kSend:
    case kRecv:
      break;  // no collectives
  }
}

}  // namespace jccl
