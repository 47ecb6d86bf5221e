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

// Of what a rank compares and the sums over all ranks.
bool areEqual(const uint64_t* mine, const uint64_t* sums, int size) {
  return sums[0] == mine[0] * static_cast<uint64_t>(size) && sums[1] == 0;
}

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
  OperationPool::settle();
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

Communicator::Communicator(MPI_Comm comm, bool owned, Options options)
    : comm_(comm),
      owned_(owned),
      options_(options),
      looksFirst_(kOverruns && !options.trusted),
      tagsTellLength_(looksFirst_ && owned),
      tagsOfOne_((options.checked ? kCheckedTags : 1) * (tagsTellLength_ ? 2 : 1)) {
  if (!owned && worldIsSpoilt) {
    throw Failure(
        kInvalid, "MPI_COMM_WORLD has operations that were given up; what is left of them would arrive in a new group,"
                  " so start the job again");
  }
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
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
    retire(comm_, traffic_);
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

template <typename IsOver>
void Communicator::waitFor(IsOver&& isOver) {
  for (Pause pause; !isOver(); pause()) {
    requireNotAborted();
  }
}

template <typename Start>
int64_t Communicator::run(Mode mode, Operation* operation, Start&& start) {
  operation->blocking = options_.blocking && mode == kBlocking;
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
  if (operation->blocking) {
    finish(*operation);  // MPI has returned, so there is nothing to ask it
    giveBack(operation);
  } else {
    await(operation);
  }
  return 0;
}

int64_t Communicator::collective(Mode mode, const Call& call) {
  traffic_.collective(signatureOf(call, size_));
  const uint64_t splits = call.what == kAllToAllV ? traffic_.splits(rank_, size_, call.inCounts, call.outCounts) : 0;
  Operation* operation = mode == kBlocking ? operations_.takeWaitedFor() : operations_.take();
  return run(mode, operation, [&](Operation& o) {
    o.call = call;
    o.way = owned_ && !o.blocking && !options_.onDevice ? wayOf(call, size_) : Way::kLibrary;
    o.history = traffic_.collectives();
    if (isCompared(o)) {
      beginComparison(o, splits);
    }
    if (mode == kBlocking) {
      waitFor([&] {
        Deferred::ofProcess().advance();
        return !Deferred::ofProcess().holdsCollectiveOf(*this) && bringForward(o);
      });
    } else if (Deferred::ofProcess().holdsCollectiveOf(*this) || !bringForward(o)) {
      defer(o);
    }
  });
}

// Messages of ours do not match if ranks disagree.
bool Communicator::isCompared(const Operation& o) const {
  if (!owned_ || size_ == 1) {
    return false;
  }
  const bool mayOverrun = looksFirst_ && (o.way == Way::kLibrary || !callTagsTellLength());
  return options_.checked || (mayOverrun && largestMessageOf(o.call, size_) > kSentEagerly);
}

// What was issued before counts too: else a rank's larger message could meet an earlier, smaller part of another.
void Communicator::beginComparison(Operation& o, uint64_t splits) {
  o.isCompared = true;
  o.sums[0] = o.mine[0] = traffic_.collectives();
  o.sums[1] = o.mine[1] = splits;
  o.comparison.begin(
      Algorithm::doubling(rank_, size_, o.sums, 2, kInt64, kSum), largestTag() - 1, o.comparison.takeMemory());
}

// Returns whether all of it is in the library's hands or over.
bool Communicator::bringForward(Operation& o) {
  if (failed_) {
    return false;
  }
  try {
    if (!o.comparison.advance(comm_)) {
      return false;
    }
    if (!o.isBegun) {
      if (o.isCompared && !areEqual(o.mine, o.sums, size_)) {
        throw Failure(
            kMismatch,
            "the ranks have not issued the same operations with the same arguments, in this call or before it");
      }
      o.isBegun = true;
      issueCollective(o, o.call);
    }
    if (!o.messages.advance(comm_)) {
      return false;
    }
    if (messagesMemory_.empty()) {
      messagesMemory_ = o.messages.takeMemory();
    }
    return true;
  } catch (...) {
    failed_ = true;
    throw;
  }
}

void Communicator::defer(Operation& o) {
  const auto keep = [this](std::vector<int64_t>& to, const int64_t*& counts) {
    if (counts != nullptr) {
      to.assign(counts, counts + size_);
      counts = to.data();
    }
  };
  keep(o.inCounts, o.call.inCounts);
  keep(o.outCounts, o.call.outCounts);
  Deferred::ofProcess().add(*this, o);
}

int64_t Communicator::send(Mode mode, void* data, int64_t count, int type, int peer, int tag) {
  return run(mode, operations_.take(), [&](Operation& o) {
    startSend(o, data, count, type, peer, tagOf(tag, count, type));
    traffic_.sent();
  });
}

int64_t Communicator::receive(Mode mode, void* data, int64_t count, int type, int peer, int tag) {
  return run(mode, operations_.take(), [&](Operation& o) {
    o.blocking = false;  // it is waited for with a deadline; its status tells sender and size
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
    operation->comparison.forget();
    operation->messages.forget();
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
  // Why it can not be cancelled, or how it ended, adds nothing to the failure that is under way.
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
bool Communicator::isComplete(const Operation& operation) {
  return operation.comparison.isIdle() && operation.messages.isIdle() &&
         std::all_of(operation.requests.begin(), operation.requests.end(), [](const MPI_Request& request) {
           return request == MPI_REQUEST_NULL;
         });
}

int Communicator::await(Operation* operation) {
  int source = -1;
  try {
    waitFor([&] { return poll(*operation); });
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
