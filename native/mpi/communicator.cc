#include "communicator.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "deferred.h"

namespace jccl {

namespace {

constexpr int kCancelMillis = 100;

constexpr std::chrono::microseconds kThreadLook(1000);

// Waited for by awaitRequest, and calls that wait by themselves.
std::atomic<int> requests{0};

std::atomic<bool> crowded{false};
std::atomic<bool> exiting{false};
std::atomic<bool> worldIsSpoilt{false};

// A waiting rank polls, since nothing else moves MPI's data. Where ranks share cores it must not keep others from
// running: a polling rank would spend its whole time slice before the rank it waits for may answer. In a long wait, such as
// for a rank that writes a checkpoint, it sleeps so long that its core is free for other threads.
class Pause {
 public:
  void operator()() {
    polls_++;
    if (isLong()) {
      sleep(kLongSleepMicros);
    } else if (crowded && polls_ > kYields) {
      sleep(kSleepMicros);
    } else if (crowded || polls_ > kPolls) {
      sched_yield();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Reads the clock so seldom that short waits do not notice.
  bool isLong() {
    if (!long_ && polls_ % kPollsPerReading == 0) {
      const Clock::time_point now = Clock::now();
      if (polls_ == kPollsPerReading) {
        begin_ = now;
      }
      long_ = now - begin_ > kLong;
    }
    return long_;
  }

  // By default Linux makes it 50 microseconds longer.
  static void sleep(int micros) {
    const int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);
    usleep(micros);
    prctl(PR_SET_TIMERSLACK, slack);
  }

  static constexpr int64_t kPolls = 50;
  static constexpr int64_t kYields = 150;
  static constexpr int64_t kPollsPerReading = 100;
  static constexpr std::chrono::milliseconds kLong{500};
  static constexpr int kSleepMicros = 20;
  static constexpr int kLongSleepMicros = 200;

  int64_t polls_ = 0;
  Clock::time_point begin_;
  bool long_ = false;
};

}  // namespace

// Counted first, so that either this or endOperations() notices.
InsideLibrary::InsideLibrary() {
  requests++;
  if (exiting) {
    requests--;
    throw Failure(kAborted, "the process exits");
  }
}

InsideLibrary::~InsideLibrary() { requests--; }

bool endOperations() {
  exiting = true;
  return OperationPool::taken() + requests == 0;
}

bool operationsAreUnderWay() { return OperationPool::taken() + requests > 0; }

void setLocalRanks(int count) { crowded = count > sysconf(_SC_NPROCESSORS_ONLN); }

void awaitRequest(MPI_Request* request, int64_t timeoutMillis, const char* what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMillis);
  requests++;
  Pause pause;
  for (int done = 0; !done; pause()) {
    check(MPI_Test(request, &done, MPI_STATUS_IGNORE), what);
    if (!done && std::chrono::steady_clock::now() > deadline) {
      throw Failure(kTimeout, std::string(what) + " was not complete in " + std::to_string(timeoutMillis) + " ms");
    }
  }
  requests--;
}

Communicator* Communicator::sharedWorld() { return new Communicator(MPI_COMM_WORLD, MPI_COMM_NULL, false, {}); }

Communicator::Communicator(MPI_Comm comm, MPI_Comm comparisons, Options options)
    : Communicator(comm, comparisons, true, options) {}

Communicator::Communicator(MPI_Comm comm, MPI_Comm comparisons, bool owned, Options options)
    : comm_(comm),
      comparisons_(comparisons),
      owned_(owned),
      options_(options),
      looksFirst_(kOverruns && !options.trusted),
      tagsTellLength_(looksFirst_ && owned),
      tagsOfOne_((options.checked ? kCheckedTags : 1) * (tagsTellLength_ ? 2 : 1)) {
  if (!owned && worldIsSpoilt) {
    throw Failure(
        kInvalid, "operations on MPI_COMM_WORLD were abandoned, and their data could arrive in a new group; start the"
                  " job again");
  }
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (owned) {
    check(MPI_Comm_set_errhandler(comparisons, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
}

void Communicator::close() {
  int finalized = 0;
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized) {
    return;
  }
  // One that was aborted is kept: operations that were given up would reach the next group with its identity.
  if (owned_ && !aborted_) {
    retire({comm_, comparisons_}, traffic_);
  }
  if (!owned_ && aborted_) {
    worldIsSpoilt = true;
  }
}

void Communicator::requireNotAborted() const {
  if (aborted_) {
    throw Failure(kAborted, "the communicator was aborted");
  }
  if (exiting) {
    throw Failure(kAborted, "the process exits");
  }
}

// Beside a call on the group's thread it sleeps, and looks now and then: what polls would take processor time from it.
template <typename IsOver>
void Communicator::waitFor(const Operation& o, IsOver&& isOver) {
  for (Pause pause; !isOver();) {
    requireNotAborted();
    if (o.isCollective && thread_.isBusy()) {
      thread_.await(kThreadLook);
    } else {
      pause();
    }
  }
}

template <typename Start>
int64_t Communicator::run(Mode mode, Operation* operation, Start&& start) {
  try {
    requireNotAborted();  // after it was taken, so that either this or endOperations() notices
    start(*operation);
  } catch (...) {
    giveUp(operation);
    throw;
  }
  if (mode == kNonblocking) {
    return reinterpret_cast<int64_t>(operation);
  }
  await(operation);
  return 0;
}

int64_t Communicator::collective(Mode mode, const Call& call) {
  traffic_.collective(signatureOf(call, size_));
  const uint64_t splits = call.what == kAllToAllV ? traffic_.splits(rank_, size_, call.inCounts, call.outCounts) : 0;
  return run(mode, operations_.take(), [&](Operation& o) {
    o.isCollective = true;
    o.call = call;
    o.way = wayOf(call);
    if (o.way == Way::kGroupThread) {
      keepCounts(o);
    }
    if (isCompared(o)) {
      beginComparison(o, splits);
    }
    if (mode == kBlocking) {
      waitFor(o, [&] {
        Deferred::ofProcess().advance();
        return !Deferred::ofProcess().holdsCollectiveOf(*this) && bringForward(o);
      });
    } else if (Deferred::ofProcess().holdsCollectiveOf(*this) || !bringForward(o)) {
      keepCounts(o);
      Deferred::ofProcess().add(*this, o);
    }
  });
}

// All ranks take the same way, whether they wait or not: MPI does not match a call that blocks with one that does not.
Way Communicator::wayOf(const Call& call) const {
  if (options_.onDevice) {
    // The group's thread would not have the device. Open MPI takes its memory in calls that block only.
    return isOpenMpi() ? Way::kCallersThread : Way::kPolled;
  }
  // Members that are not Java make calls that block.
  return !owned_ || isLongCall(call, size_) ? Way::kGroupThread : Way::kPolled;
}

// Before a call that nothing ends, and one in which Open MPI may write past the end of memory.
bool Communicator::isCompared(const Operation& o) const {
  if (!owned_ || size_ == 1) {
    return false;
  }
  const bool mayHarm = o.way == Way::kGroupThread || (looksFirst_ && bytesOf(o.call, size_) > kSentEagerly);
  return options_.checked || (mayHarm && !options_.trusted);
}

// Of all that was issued: else a rank's larger message could meet an earlier, smaller part of another. By a communicator of
// its own, since ranks that disagree may not compare in the same calls.
void Communicator::beginComparison(Operation& o, uint64_t splits) {
  o.isCompared = true;
  o.mine = traffic_.collectives();
  o.sumOfAll = o.mine + splits;
  check(
      MPI_Iallreduce(MPI_IN_PLACE, &o.sumOfAll, 1, MPI_UINT64_T, MPI_SUM, comparisons_, &o.comparison), "MPI_Iallreduce");
}

bool Communicator::hasCompared(Operation& o) {
  int done = 1;
  if (o.comparison != MPI_REQUEST_NULL) {
    check(MPI_Test(&o.comparison, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
  if (done && o.isCompared && o.sumOfAll != o.mine * static_cast<uint64_t>(size_)) {
    throw Failure(
        kMismatch, "the ranks have not issued the same operations with the same arguments, in this call or before it");
  }
  return done != 0;
}

// Returns whether it is in the library's hands or over, and what comes after it may begin.
bool Communicator::bringForward(Operation& o) {
  if (failed_) {
    return false;
  }
  try {
    if (!o.isBegun) {
      if (!hasCompared(o)) {
        return false;
      }
      o.isBegun = true;
      if (o.way == Way::kGroupThread) {
        thread_.run([this, &o] { issueOnThread(o); });
      } else {
        issueCollective(o);
      }
    }
    if (isOnThread(o)) {
      return false;
    }
    if (o.failure != nullptr) {
      throw Failure(*o.failure);
    }
    return true;
  } catch (...) {
    failed_ = true;
    throw;
  }
}

void Communicator::issueOnThread(Operation& o) {
  try {
    issueCollective(o);
  } catch (const Failure& failure) {
    o.failure = std::make_unique<Failure>(failure);
  } catch (const std::exception& failure) {
    o.failure = std::make_unique<Failure>(kInternal, failure.what());
  }
}

// The thread has one at a time, and what comes after it has not begun.
bool Communicator::isOnThread(const Operation& o) const {
  return o.way == Way::kGroupThread && o.isBegun && thread_.isBusy();
}

// The caller's arrays may be gone before they are used.
void Communicator::keepCounts(Operation& o) const {
  const auto keep = [this](std::vector<int64_t>& to, const int64_t*& counts) {
    if (counts != nullptr && counts != to.data()) {
      to.assign(counts, counts + size_);
      counts = to.data();
    }
  };
  keep(o.inCounts, o.call.inCounts);
  keep(o.outCounts, o.call.outCounts);
}

int64_t Communicator::send(Mode mode, void* data, int64_t count, int type, int peer, int tag) {
  return run(mode, operations_.take(), [&](Operation& o) {
    startSend(o, data, count, type, peer, tagOf(tag, count, type));
    traffic_.sent();
  });
}

int64_t Communicator::receive(Mode mode, void* data, int64_t count, int type, int peer, int tag) {
  return run(mode, operations_.take(), [&](Operation& o) {
    o.expected = count;
    o.type = type;
    o.data = data;
    o.peer = peer < 0 ? MPI_ANY_SOURCE : peer;
    o.tag = tagOf(tag, count, type);
    if (!looksFirst_ || (tagsTellLength_ && !isLong(count, type))) {
      startReceive(o);
    } else if (!Deferred::ofProcess().isEmpty() || !startMatchedReceive(o)) {
      Deferred::ofProcess().add(*this, o);
    }
  });
}

bool Communicator::issueIfReady(Operation& operation) {
  if (aborted_ || failed_) {
    return false;
  }
  try {
    if (operation.expected >= 0) {
      return startMatchedReceive(operation);
    }
    return bringForward(operation);
  } catch (const Failure& failure) {
    operation.failure = std::make_unique<Failure>(failure);
  } catch (const std::exception& failure) {
    // Its own, and not that of the operation which brings it forward.
    operation.failure = std::make_unique<Failure>(kInternal, failure.what());
  }
  return true;
}

void Communicator::giveBack(Operation* operation) {
  for (MPI_Datatype& type : operation->ownTypes) {
    MPI_Type_free(&type);  // what it was for is done, and stays so where this fails
  }
  operation->ownTypes.clear();
  operation->requests.clear();
  operation->expected = -1;
  operation->sum = nullptr;
  operation->isCollective = false;
  operation->isCompared = false;
  operation->isBegun = false;
  operation->failure.reset();
  operations_.giveBack(operation);
}

// After a failure. What the library may still use is never freed; a receive can be taken back.
void Communicator::giveUp(Operation* operation) {
  Deferred::ofProcess().remove(*operation);
  if (operation->expected >= 0) {
    takeBack(*operation);
  }
  if (isComplete(*operation)) {
    giveBack(operation);
  } else {
    abandoned_ = true;
  }
}

void Communicator::abort() {
  if (!aborted_) {
    abortedAt_ = std::chrono::steady_clock::now().time_since_epoch();
    aborted_ = true;
  }
}

// One that is being received when it is cancelled ends only with the message. Those of a communicator that was aborted
// have one deadline, since one thread may take back all of them.
void Communicator::takeBack(Operation& receive) const {
  if (receive.requests.empty() || receive.requests[0] == MPI_REQUEST_NULL) {
    return;
  }
  MPI_Request& request = receive.requests[0];
  using Clock = std::chrono::steady_clock;
  const Clock::time_point since = aborted_ ? Clock::time_point(abortedAt_.load()) : Clock::now();
  const Clock::time_point deadline = since + std::chrono::milliseconds(kCancelMillis);
  Pause pause;
  int done = 0;
  // Why it cannot be cancelled, or how it ended, adds nothing to the failure that is under way.
  MPI_Cancel(&request);
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && Clock::now() < deadline) {
    pause();
  }
}

bool Communicator::poll(Operation& operation) {
  Deferred::ofProcess().advance();
  if (operation.deferred) {
    return false;
  }
  if (operation.failure != nullptr) {
    throw Failure(*operation.failure);
  }
  if (isComplete(operation)) {
    return true;
  }
  int done = 0;
  if (operation.requests.size() == 1) {
    check(MPI_Test(&operation.requests[0], &done, &operation.status), "MPI_Test");
  } else {
    const auto count = static_cast<int>(operation.requests.size());
    check(MPI_Testall(count, operation.requests.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
  }
  return done != 0;
}

bool Communicator::test(Operation* operation) {
  if (aborted_) {
    return true;
  }
  try {
    return poll(*operation);
  } catch (const Failure& failure) {
    operation->failure = std::make_unique<Failure>(failure);
    return true;
  }
}

// MPI sets completed requests to null, and has no status for them afterwards.
bool Communicator::isComplete(const Operation& operation) const {
  return operation.comparison == MPI_REQUEST_NULL && !isOnThread(operation) &&
         std::all_of(operation.requests.begin(), operation.requests.end(), [](const MPI_Request& request) {
           return request == MPI_REQUEST_NULL;
         });
}

int Communicator::await(Operation* operation) {
  int source = -1;
  try {
    waitFor(*operation, [&] { return poll(*operation); });
    source = finish(*operation);
  } catch (...) {
    giveUp(operation);
    throw;
  }
  giveBack(operation);
  return source;
}

int Communicator::finish(Operation& operation) {
  if (operation.sum != nullptr) {
    divideOf(operation.type)(operation.sum, operation.sum, static_cast<size_t>(operation.sumCount), size_);
  }
  if (operation.expected < 0) {
    return -1;
  }
  // Of a message of another type there may be no whole number of elements.
  MPI_Count bytes = 0;
  traffic_.received();
  check(MPI_Get_elements_x(&operation.status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  const auto size = static_cast<MPI_Count>(elementSizeOf(operation.type));
  if (bytes != WideCount{operation.expected} * size) {
    throw Failure(
        kMismatch, "the message from rank " + std::to_string(operation.status.MPI_SOURCE) + " has " +
                       (bytes % size == 0 ? std::to_string(bytes / size) + " elements"
                                          : std::to_string(bytes) + " bytes") +
                       ", not " + std::to_string(operation.expected) +
                       (bytes % size == 0 ? "" : " elements of " + std::to_string(size) + " bytes"));
  }
  return operation.status.MPI_SOURCE;
}

}  // namespace jccl
