#include "progress.h"

#include <mpi.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "communicator.h"
#include "deferred.h"
#include "message.h"
#include "types.h"

namespace jccl {

namespace {

constexpr std::chrono::microseconds kBusy(20);
constexpr std::chrono::milliseconds kIdle(1);

std::atomic<bool> stopped{false};

// A message that never comes: testing for it lets the library look after all that it has in hand, which asking for a
// message with MPI_Iprobe does not in MPICH.
class Nothing {
 public:
  Nothing() {
    check(MPI_Comm_dup(MPI_COMM_SELF, &comm_), "MPI_Comm_dup");
    try {
      check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      check(MPI_Irecv(&byte_, 1, MPI_BYTE, 0, 0, comm_, &request_), "MPI_Irecv");
    } catch (...) {
      MPI_Comm_free(&comm_);  // why it was not used tells more than why it cannot be freed
      throw;
    }
  }

  // The process exits, so what fails is left to MPI_Finalize. One that was not cancelled would be waited for for ever.
  ~Nothing() {
    if (MPI_Cancel(&request_) == MPI_SUCCESS && MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
      MPI_Comm_free(&comm_);
    }
  }

  Nothing(const Nothing&) = delete;
  Nothing& operator=(const Nothing&) = delete;

  void test() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  char byte_ = 0;
};

std::mutex mutex;
std::thread* thread = nullptr;
// A request may be tested by one thread at a time.
std::mutex nothingMutex;
Nothing* nothing = nullptr;

void bringForward() {
  while (!stopped) {
    if (MessagePool::taken() == 0) {
      std::this_thread::sleep_for(kIdle);
      continue;
    }
    try {
      Deferred::ofProcess().advance();
    } catch (...) {
      // Out of memory while a failure was noted; whoever waits for the message tries it again.
    }
    try {
      progress();
    } catch (const Failure& failure) {
      // Who waits for an operation brings it forward too, and is told what the library has against that.
      std::fprintf(stderr, "jccl: the progress thread ends: %s\n", failure.what());
      return;
    }
    std::this_thread::sleep_for(kBusy);
  }
}

}  // namespace

std::thread startWithoutSignals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

void prepareProgress() {
  std::lock_guard<std::mutex> lock(nothingMutex);
  nothing = new Nothing();
}

void progress() {
  std::unique_lock<std::mutex> lock(nothingMutex, std::try_to_lock);
  if (lock.owns_lock() && nothing != nullptr) {
    nothing->test();
  }
}

void startProgress() {
  std::lock_guard<std::mutex> lock(mutex);
  if (thread != nullptr || stopped) {
    return;
  }
  thread = new std::thread(startWithoutSignals(bringForward));
}

void stopProgress() {
  std::lock_guard<std::mutex> lock(mutex);
  stopped = true;
  if (thread != nullptr) {
    thread->join();
    delete thread;
    thread = nullptr;
  }
  std::lock_guard<std::mutex> nothingLock(nothingMutex);
  delete nothing;
  nothing = nullptr;
}

}  // namespace jccl
