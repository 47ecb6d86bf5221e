// One rank's end of a group: an MPI communicator, its operations under way, and how to wait for them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "retired.h"
#include "types.h"

namespace jccl {

// An operation in the library's hands, with all that must live as long. Reused, so that vectors keep their memory.
struct Operation {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Datatype> ownTypes;
  std::vector<char> scratch;
  // Of the forms with parts of different sizes: counts and places of what is sent and received.
  std::vector<int> sendCounts;
  std::vector<int> sendPlaces;
  std::vector<int> receiveCounts;
  std::vector<int> receivePlaces;
  std::vector<MPI_Datatype> sendTypes;
  std::vector<MPI_Datatype> receiveTypes;

  // Whether to use MPI's blocking call.
  bool blocking = false;

  // A receive: how many elements must come, else -1.
  int64_t expected = -1;
  int type = 0;
  MPI_Status status;

  // Why it failed, where that was noticed by a test.
  std::unique_ptr<Failure> failure;

  // An average: what is left to divide.
  void* sum = nullptr;
  int64_t sumCount = 0;

  MPI_Request* next() {
    requests.push_back(MPI_REQUEST_NULL);
    return &requests.back();
  }

  MPI_Datatype own(MPI_Datatype made) {
    ownTypes.push_back(made);
    return made;
  }
};

// How calls are made, see org.jccl.mpi.MpiOptions.
struct Mode {
  // Synchronous collectives are MPI's blocking calls.
  bool blocking;
  // Ranks compare what they are about to do, and messages match in type.
  bool checked;
};

class Communicator {
 public:
  // An owned communicator is retired on close.
  Communicator(MPI_Comm comm, bool owned, Mode mode);
  ~Communicator();

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // In the order of the constants of org.jccl.spi.Communicator.
  enum Stream : int64_t { kBlocking, kNonblocking };

  // Throws on every rank unless all have the same signature of the collective that comes next.
  void compare(int64_t signature);

  // Throws on every rank unless what each sends is what the others receive.
  void compareSplits(int64_t signature, const int64_t* inCounts, const int64_t* outCounts);

  // Notes a collective that is about to be issued.
  void note(int64_t signature) { traffic_.collective(signature); }
  void noteSplits(const int64_t* inCounts, const int64_t* outCounts) {
    traffic_.splits(rank_, size_, inCounts, outCounts);
  }

  bool checked() const { return mode_.checked; }
  int size() const { return size_; }

  // Lets start(operation) issue it. Returns a request, or 0 when it is complete.
  template <typename Start>
  int64_t run(int64_t stream, Start&& start) {
    requireNotAborted();
    Operation* operation = take();
    operation->blocking = mode_.blocking && stream == kBlocking;
    try {
      start(*operation);
    } catch (...) {
      giveUp(operation);
      throw;
    }
    if (stream == kNonblocking) {
      return reinterpret_cast<int64_t>(operation);
    }
    await(operation);
    return 0;
  }

  void barrier(Operation& o);
  void broadcast(Operation& o, void* data, int64_t count, int type, int root);
  void allReduce(Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor);
  void reduce(Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor, int root);
  void allGather(Operation& o, void* in, void* out, int64_t count, int type);
  void allGatherV(Operation& o, void* in, void* out, const int64_t* counts, int type);
  void gather(Operation& o, void* in, void* out, int64_t count, int type, int root);
  void scatter(Operation& o, void* in, void* out, int64_t count, int type, int root);
  void reduceScatter(Operation& o, void* in, void* out, int64_t count, int type, int kind, double factor);
  void reduceScatterV(Operation& o, void* in, void* out, const int64_t* counts, int type, int kind, double factor);
  void allToAll(Operation& o, void* in, void* out, int64_t count, int type);
  void allToAllV(Operation& o, void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type);
  void send(Operation& o, void* data, int64_t count, int type, int peer, int tag);
  void receive(Operation& o, void* data, int64_t count, int type, int peer, int tag);

  bool test(Operation* operation);

  // Returns the sender of a receive, else -1.
  int await(Operation* operation);

  void abort() { aborted_ = true; }

  // Whether an operation was given up that the library may still run.
  bool abandoned() const { return abandoned_; }

  // Hands the library's communicator back; the last call.
  void close();

 private:
  struct Elements {
    int count;
    MPI_Datatype type;
  };

  template <typename Blocking, typename Nonblocking, typename... Arguments>
  void issue(
      Operation& o, const char* name, Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    if (o.blocking) {
      check(blocking(arguments..., comm_), name);
      return;
    }
    const int code = nonblocking(arguments..., comm_, o.next());
    if (code != MPI_SUCCESS) {
      o.requests.pop_back();
      check(code, name);
    }
  }

  Elements elements(Operation& o, int64_t count, int type);
  const void* premultiplied(Operation& o, const void* in, int64_t count, int type, int kind, double factor);
  void averageLater(Operation& o, void* sum, int64_t count, int type, int kind);
  void place(
      Operation& o, const int64_t* counts, int type, std::vector<int>& sizes, std::vector<int>& places,
      std::vector<MPI_Datatype>& types);
  void reducePart(Operation& o, const void* in, void* out, int64_t count, int type, int kind, int root);

  void requireNotAborted() const;
  int tagOf(int tag, int type) const;
  Operation* take();
  void giveBack(Operation* operation);
  void giveUp(Operation* operation);
  static void takeBack(Operation& receive);
  static bool isComplete(const Operation& operation);
  bool poll(Operation& operation);
  int finish(Operation& operation);

  const MPI_Comm comm_;
  const bool owned_;
  const Mode mode_;
  int rank_;
  int size_;
  Traffic traffic_;
  std::atomic<bool> aborted_{false};
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::vector<Operation*> idle_;
};

// Number of operations of this process in the library's hands. MPI must not be finalised before it is 0.
int operationsUnderWay();

// Tells how many ranks share this host, so that waiting lets others run where there are fewer cores.
void setLocalRanks(int count);

// Waits for a request that belongs to no communicator of ours.
void awaitRequest(MPI_Request* request, int64_t timeoutMillis, const char* what);

}  // namespace jccl
