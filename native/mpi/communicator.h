// One rank's end of a group: an MPI communicator, its operations under way, and how to wait for them.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "group_thread.h"
#include "operation_pool.h"
#include "retired.h"

namespace jccl {

// How a group works, see org.jccl.mpi.MpiOptions.
struct Options {
  // Ranks compare what they are about to do, and messages match in type.
  bool checked;
  // No message is longer than its receiver expects, so the library may write it without a look at its length, and ranks do
  // not compare what they are about to do.
  bool trusted;
  // Tensors are in memory that the host cannot read.
  bool onDevice;
};

// Whether the library writes what is too long past the end of a receiver's memory, see deferred.h.
#ifdef OPEN_MPI
constexpr bool kOverruns = true;
#elif defined(MPI_ABI_VERSION)
inline const bool kOverruns = isOpenMpi();  // whose the library is, only itself tells
#else
constexpr bool kOverruns = false;
#endif

// Bytes of a message that no transport of such a library fetches or puts: 4 KB with its header, on shared memory.
constexpr int64_t kSentEagerly = 3 * 1024;

inline bool isLong(WideCount count, int type) { return count * elementSizeOf(type) > kSentEagerly; }

class Communicator {
 public:
  // MPI_COMM_WORLD itself, with members that are not Java.
  static Communicator* sharedWorld();

  // Takes both communicators, which have the same members, and retires them on close. The ranks compare by the second one.
  Communicator(MPI_Comm comm, MPI_Comm comparisons, Options options);

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Each returns a request, or 0 when it is complete. One thread at a time issues collectives.
  int64_t collective(Mode mode, const Call& call);
  int64_t send(Mode mode, void* data, int64_t count, int type, int peer, int tag);
  int64_t receive(Mode mode, void* data, int64_t count, int type, int peer, int tag);

  // Gives a deferred operation to the library if that may be done now, or notes why it failed. Returns whether it is not
  // to be deferred any longer.
  bool issueIfReady(Operation& operation);

  bool test(Operation* operation);

  // Returns the sender of a receive, else -1.
  int await(Operation* operation);

  // So that all tags that stand for one of the user's are below ours.
  int largestUserTag() const { return (largestTag() - 1) / tagsOfOne_ - 1; }

  void abort();

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
    if (o.way != Way::kPolled) {
      requireNotAborted();
      check(blocking(arguments..., comm_), name);
      return;
    }
    start(o, name, nonblocking, arguments...);
  }

  template <typename Nonblocking, typename... Arguments>
  void start(Operation& o, const char* name, Nonblocking nonblocking, Arguments... arguments) {
    const int code = nonblocking(arguments..., comm_, o.next());
    if (code != MPI_SUCCESS) {
      o.requests.pop_back();
      check(code, name);
    }
  }

  template <typename Start>
  int64_t run(Mode mode, Operation* operation, Start&& start);

  template <typename IsOver>
  void waitFor(const Operation& o, IsOver&& isOver);

  Communicator(MPI_Comm comm, MPI_Comm comparisons, bool owned, Options options);

  Way wayOf(const Call& call) const;
  bool isCompared(const Operation& o) const;
  void beginComparison(Operation& o, uint64_t splits);
  bool hasCompared(Operation& o);
  bool bringForward(Operation& o);
  bool isOnThread(const Operation& o) const;
  void keepCounts(Operation& o) const;
  void defer(Operation& o);
  void startSend(Operation& o, void* data, int64_t count, int type, int peer, int tag);
  void startReceive(Operation& o);
  bool startMatchedReceive(Operation& o);

  void issueCollective(Operation& o);
  void issueOnThread(Operation& o);
  void barrier(Operation& o);
  void broadcast(Operation& o, void* data, int64_t count, int type, int root);
  void allReduce(Operation& o, const Call& c);
  void reduce(Operation& o, const Call& c);
  void allGather(Operation& o, const Call& c);
  void allGatherV(Operation& o, const Call& c);
  void gather(Operation& o, const Call& c);
  void scatter(Operation& o, const Call& c);
  void reduceScatter(Operation& o, const Call& c);
  void reduceScatterV(Operation& o, const Call& c);
  void allToAll(Operation& o, const Call& c);
  void allToAllV(Operation& o, const Call& c);

  int64_t mostOfOneCall(int type) const;
  bool isLarge(WideCount count, int type) const { return count > mostOfOneCall(type); }
  template <typename Move>
  void inParts(int64_t count, int type, Move&& move) const;
  Elements elements(Operation& o, int64_t count, int type);
  MPI_Datatype wholeParts(Operation& o, int64_t count, int type);
  const void* premultiplied(Operation& o, const Call& c, int64_t count);
  void averageLater(Operation& o, const Call& c, int64_t count);
  void place(
      Operation& o, const int64_t* counts, int type, std::vector<int>& sizes, std::vector<int>& places,
      std::vector<MPI_Datatype>& types);
  void reduceTo(Operation& o, const Call& c, int root, const void* in, int64_t count);

  void requireNotAborted() const;
  int tagOf(int tag, int64_t count, int type) const;
  void giveBack(Operation* operation);
  void giveUp(Operation* operation);
  void takeBack(Operation& receive) const;
  bool isComplete(const Operation& operation) const;
  bool poll(Operation& operation);
  int finish(Operation& operation);

  const MPI_Comm comm_;
  const MPI_Comm comparisons_;
  const bool owned_;
  const Options options_;
  // Whether a message is given to the library when its length is known.
  const bool looksFirst_;
  // Whether short messages need no look, since their tags tell them from long ones. Ranks in C have no such tags.
  const bool tagsTellLength_;
  // MPI's tags for each of the user's.
  const int tagsOfOne_;
  int rank_;
  int size_;
  Traffic traffic_;
  std::atomic<bool> aborted_{false};
  // When, if it was; written before the flag.
  std::atomic<std::chrono::steady_clock::duration> abortedAt_{};
  // A collective failed: those after it are not started any more, since messages of that one would arrive in them.
  std::atomic<bool> failed_{false};
  std::atomic<bool> abandoned_{false};
  OperationPool operations_;
  GroupThread thread_;
};

// Whether the library has operations of this process in its hands.
bool operationsAreUnderWay();

// The time in which a thread is in a call of the library that waits for others and is no operation.
class InsideLibrary final {
 public:
  InsideLibrary();
  ~InsideLibrary();
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;
};

// Refuses operations from now on. Returns whether none is under way: else MPI must not be finalised.
bool endOperations();

// Tells how many ranks share this host, so that waiting lets others run where there are fewer cores.
void setLocalRanks(int count);

// Waits for a request that belongs to no communicator of ours.
void awaitRequest(MPI_Request* request, int64_t timeoutMillis, const char* what);

}  // namespace jccl
