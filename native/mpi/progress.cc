#include "progress.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "communicator.h"
#include "deferred.h"

namespace jccl {

namespace {

constexpr std::chrono::microseconds kBusy(20);
constexpr std::chrono::milliseconds kIdle(1);

std::mutex mutex;
std::thread* thread = nullptr;
std::atomic<bool> stopped{false};

// A message that never comes: testing for it lets the library look after all that it has in hand, which asking for a
// message with MPI_Iprobe does not in MPICH.
class Nothing {
 public:
  Nothing() {
    MPI_Comm_dup(MPI_COMM_SELF, &comm_);
    MPI_Irecv(&byte_, 1, MPI_BYTE, 0, 0, comm_, &request_);
  }

  ~Nothing() {
    MPI_Cancel(&request_);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm_);
  }

  Nothing(const Nothing&) = delete;
  Nothing& operator=(const Nothing&) = delete;

  void test() {
    int done = 0;
    MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
  char byte_ = 0;
};

void bringForward() {
  Nothing nothing;
  while (!stopped) {
    if (!operationsAreUnderWay()) {
      std::this_thread::sleep_for(kIdle);
      continue;
    }
    try {
      Deferred::ofProcess().advance();
    } catch (...) {
      // Out of memory while a failure was noted; whoever waits for the operation tries it again.
    }
    nothing.test();
    std::this_thread::sleep_for(kBusy);
  }
}

}  // namespace

void startProgress() {
  std::lock_guard<std::mutex> lock(mutex);
  if (thread != nullptr || stopped) {
    return;
  }
  // The process's signals belong to the threads of the JVM.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread = new std::thread(bringForward);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stopProgress() {
  std::lock_guard<std::mutex> lock(mutex);
  stopped = true;
  if (thread != nullptr) {
    thread->join();
    delete thread;
    thread = nullptr;
  }
}

}  // namespace jccl
