// One rank's end of a group: an MPI communicator, its collectives, and its messages under way.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "call.h"
#include "message.h"
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

  // Blocks inside the library until it is over. One thread at a time makes collectives.
  void collective(const Call& call);

  Message* send(void* data, int64_t count, int type, int peer, int tag);
  Message* receive(void* data, int64_t count, int type, int peer, int tag);

  // Gives a deferred receive to the library if that may be done now, or notes why it failed. Returns whether it is not
  // to be deferred any longer.
  bool issueIfReady(Message& receive);

  bool test(Message* message);

  // Returns the sender of a receive, else -1.
  int await(Message* message);

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

  // What a collective needs beside its arguments, reused since vectors keep their memory.
  struct Workspace {
    std::vector<MPI_Datatype> ownTypes;
    std::vector<char> scratch;
    // Of the forms with parts of different sizes: counts and places of what is sent and received.
    std::vector<int> sendCounts;
    std::vector<int> sendPlaces;
    std::vector<int> receiveCounts;
    std::vector<int> receivePlaces;
    std::vector<MPI_Datatype> sendTypes;
    std::vector<MPI_Datatype> receiveTypes;
  };

  Communicator(MPI_Comm comm, MPI_Comm comparisons, bool owned, Options options);

  // One call of the library that blocks.
  template <typename Function, typename... Arguments>
  void issue(const char* name, Function function, Arguments... arguments) {
    requireNotAborted();
    check(function(arguments..., comm_), name);
  }

  template <typename IsOver>
  void waitFor(IsOver&& isOver);

  template <typename Start>
  Message* begin(Start&& start);

  bool isCompared(const Call& call) const;
  void compare(uint64_t splits);
  void awaitComparison();
  void startSend(Message& m, void* data, int64_t count, int type, int peer);
  void startReceive(Message& m);
  bool startMatchedReceive(Message& m);

  void make(const Call& call);
  void broadcast(void* data, int64_t count, int type, int root);
  void allReduce(const Call& c);
  void reduce(const Call& c);
  void allGather(const Call& c);
  void allGatherV(const Call& c);
  void gather(const Call& c);
  void scatter(const Call& c);
  void reduceScatter(const Call& c);
  void reduceScatterV(const Call& c);
  void allToAll(const Call& c);
  void allToAllV(const Call& c);

  int64_t mostOfOneCall(int type) const;
  bool isLarge(WideCount count, int type) const { return count > mostOfOneCall(type); }
  template <typename Move>
  void inParts(int64_t count, int type, Move&& move) const;
  Elements elements(int64_t count, int type);
  Elements elements(Message& m, int64_t count, int type) const;
  MPI_Datatype own(MPI_Datatype made);
  MPI_Datatype wholeParts(int64_t count, int type);
  const void* premultiplied(const Call& c, int64_t count);
  void divide(const Call& c, int64_t count) const;
  void place(
      const int64_t* counts, int type, std::vector<int>& sizes, std::vector<int>& places,
      std::vector<MPI_Datatype>& types);
  void reduceTo(const Call& c, int root, const void* in, int64_t count);

  void requireNotAborted() const;
  int tagOf(int tag, int64_t count, int type) const;
  void giveUp(Message* message);
  void takeBack(Message& receive) const;
  bool poll(Message& message);
  int finish(Message& message);

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
  std::atomic<bool> abandoned_{false};
  MessagePool messages_;
  Workspace work_;

  // What ranks compare: what this one has issued, and the sum of what all have.
  uint64_t mine_ = 0;
  uint64_t sumOfAll_ = 0;
  MPI_Request comparison_ = MPI_REQUEST_NULL;
};

// Number of groups that this process has not closed.
int openGroups();

// The time in which a thread is in a call of the library that waits for others.
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
