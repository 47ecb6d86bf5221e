#include "communicator.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>

#include "deferred.h"

namespace jccl {

namespace {

constexpr int kCancelMillis = 100;

// Waited for by awaitRequest, comparisons that were given up, and calls that wait by themselves.
std::atomic<int> requests{0};

std::atomic<int> open{0};

std::atomic<bool> crowded{false};
std::atomic<bool> exiting{false};
std::atomic<bool> worldIsSpoilt{false};

// A rank that waits for a message polls, since nothing else moves MPI's data. Where ranks share cores it must not keep others from
// running: a polling rank would spend its whole time slice before the rank it waits for may answer. In a long wait, such as
// for a rank that writes a checkpoint, it sleeps so long that its core is free for other threads.
class Pause {
 public:
  void operator()() {
    polls_++;
    if (isLong()) {
      sleep(kLongSleepMicros);
    } else if (polls_ > kYields && (crowded || requests > 0)) {
      // Also beside a thread that is inside: polls would take the library's only lock from it.
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
  return MessagePool::taken() + requests == 0;
}

int openGroups() { return open; }

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
  open++;
}

void Communicator::close() {
  open--;
  int finalized = 0;
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized) {
    return;
  }
  // One that was aborted is kept: operations that were given up would reach the next group with its identity.
  if (owned_ && !aborted_) {
    retire({comm_, comparisons_}, traffic_);
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

// One rule for all: a collective is the library's call that blocks, which MPI does not match with one that does not.
void Communicator::collective(const Call& call) {
  const InsideLibrary inside;
  const Deferred::Meanwhile meanwhile;
  struct Released {
    std::vector<MPI_Datatype>& types;
    ~Released() {
      for (MPI_Datatype& type : types) {
        MPI_Type_free(&type);  // what it was for is done, and stays so where this fails
      }
      types.clear();
    }
  } const released{work_.ownTypes};
  traffic_.collective(signatureOf(call, size_));
  const uint64_t splits = call.what == kAllToAllV ? traffic_.splits(rank_, size_, call.inCounts, call.outCounts) : 0;
  if (isCompared(call)) {
    compare(splits);
  }
  make(call);
}

// Where that was asked for, and before a call in which Open MPI may write past the end of memory.
bool Communicator::isCompared(const Call& call) const {
  if (!owned_ || size_ == 1) {
    return false;
  }
  return options_.checked || (looksFirst_ && bytesOf(call, size_) > kSentEagerly);
}

// Of all that was issued: else a rank's larger message could meet an earlier, smaller part of another. By a communicator of
// its own, since ranks that disagree may not compare in the same calls. Where all calls are compared that is polled, so that
// an abort ends it: ranks that have compared have all arrived, and the call after it does not wait for one that never comes.
void Communicator::compare(uint64_t splits) {
  mine_ = traffic_.collectives();
  sumOfAll_ = mine_ + splits;
  if (options_.checked) {
    check(
        MPI_Iallreduce(MPI_IN_PLACE, &sumOfAll_, 1, MPI_UINT64_T, MPI_SUM, comparisons_, &comparison_),
        "MPI_Iallreduce");
    awaitComparison();
  } else {
    check(MPI_Allreduce(MPI_IN_PLACE, &sumOfAll_, 1, MPI_UINT64_T, MPI_SUM, comparisons_), "MPI_Allreduce");
  }
  if (sumOfAll_ != mine_ * static_cast<uint64_t>(size_)) {
    throw Failure(
        kMismatch, "the ranks have not issued the same operations with the same arguments, in this call or before it");
  }
}

void Communicator::awaitComparison() {
  try {
    waitFor([this] {
      Deferred::ofProcess().advance();
      int done = 0;
      check(MPI_Test(&comparison_, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
  } catch (...) {
    abandoned_ = true;
    requests++;
    throw;
  }
}

template <typename Start>
Message* Communicator::begin(Start&& start) {
  Message* message = messages_.take();
  try {
    requireNotAborted();  // after it was taken, so that either this or endOperations() notices
    start(*message);
  } catch (...) {
    giveUp(message);
    throw;
  }
  return message;
}

Message* Communicator::send(void* data, int64_t count, int type, int peer, int tag) {
  return begin([&](Message& m) {
    m.tag = tagOf(tag, count, type);
    startSend(m, data, count, type, peer);
    traffic_.sent();
  });
}

Message* Communicator::receive(void* data, int64_t count, int type, int peer, int tag) {
  return begin([&](Message& m) {
    m.expected = count;
    m.type = type;
    m.data = data;
    m.peer = peer < 0 ? MPI_ANY_SOURCE : peer;
    m.tag = tagOf(tag, count, type);
    if (!looksFirst_ || (tagsTellLength_ && !isLong(count, type))) {
      startReceive(m);
    } else if (!Deferred::ofProcess().isEmpty() || !startMatchedReceive(m)) {
      Deferred::ofProcess().add(*this, m);
    }
  });
}

bool Communicator::issueIfReady(Message& receive) {
  if (aborted_) {
    return false;
  }
  try {
    return startMatchedReceive(receive);
  } catch (const Failure& failure) {
    receive.failure = std::make_unique<Failure>(failure);
  } catch (const std::exception& failure) {
    // Its own, and not that of the message which brings it forward.
    receive.failure = std::make_unique<Failure>(kInternal, failure.what());
  }
  return true;
}

// After a failure. What the library may still use is never freed; a receive can be taken back.
void Communicator::giveUp(Message* message) {
  Deferred::ofProcess().remove(*message);
  if (message->expected >= 0) {
    takeBack(*message);
  }
  if (message->request == MPI_REQUEST_NULL) {
    messages_.giveBack(message);
  } else {
    abandoned_ = true;
  }
}

void Communicator::abort() {
  if (!aborted_) {
    abortedAt_ = std::chrono::steady_clock::now().time_since_epoch();
    aborted_ = true;
  }
  if (!owned_) {
    worldIsSpoilt = true;
  }
}

// One that is being received when it is cancelled ends only with the message. Those of a communicator that was aborted
// have one deadline, since one thread may take back all of them.
void Communicator::takeBack(Message& receive) const {
  if (receive.request == MPI_REQUEST_NULL) {
    return;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point since = aborted_ ? Clock::time_point(abortedAt_.load()) : Clock::now();
  const Clock::time_point deadline = since + std::chrono::milliseconds(kCancelMillis);
  Pause pause;
  int done = 0;
  // Why it cannot be cancelled, or how it ended, adds nothing to the failure that is under way.
  MPI_Cancel(&receive.request);
  while (MPI_Test(&receive.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && Clock::now() < deadline) {
    pause();
  }
}

// MPI sets completed requests to null, and has no status for them afterwards.
bool Communicator::poll(Message& message) {
  Deferred::ofProcess().advance();
  if (message.deferred) {
    return false;
  }
  if (message.failure != nullptr) {
    throw Failure(*message.failure);
  }
  int done = message.request == MPI_REQUEST_NULL ? 1 : 0;
  if (!done) {
    check(MPI_Test(&message.request, &done, &message.status), "MPI_Test");
  }
  return done != 0;
}

bool Communicator::test(Message* message) {
  if (aborted_) {
    return true;
  }
  try {
    return poll(*message);
  } catch (const Failure& failure) {
    message->failure = std::make_unique<Failure>(failure);
    return true;
  }
}

int Communicator::await(Message* message) {
  int source = -1;
  try {
    waitFor([&] { return poll(*message); });
    source = finish(*message);
  } catch (...) {
    giveUp(message);
    throw;
  }
  messages_.giveBack(message);
  return source;
}

int Communicator::finish(Message& message) {
  if (message.expected < 0) {
    return -1;
  }
  // Of a message of another type there may be no whole number of elements.
  MPI_Count bytes = 0;
  traffic_.received();
  check(MPI_Get_elements_x(&message.status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  const auto size = static_cast<MPI_Count>(elementSizeOf(message.type));
  if (bytes != WideCount{message.expected} * size) {
    throw Failure(
        kMismatch, "the message from rank " + std::to_string(message.status.MPI_SOURCE) + " has " +
                       (bytes % size == 0 ? std::to_string(bytes / size) + " elements"
                                          : std::to_string(bytes) + " bytes") +
                       ", not " + std::to_string(message.expected) +
                       (bytes % size == 0 ? "" : " elements of " + std::to_string(size) + " bytes"));
  }
  return message.status.MPI_SOURCE;
}

}  // namespace jccl
