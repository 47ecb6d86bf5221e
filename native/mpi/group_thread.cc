#include "group_thread.h"

#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "deferred.h"

namespace jccl {

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

// Notified without the mutex: otherwise the thread that wakes must wait for it, which doubles the time of a handover.
struct GroupThread::State {
  std::mutex mutex;
  std::condition_variable given;
  std::condition_variable done;
  std::function<void()> task;
  std::atomic<bool> busy{false};
  bool started = false;
  bool ended = false;
};

GroupThread::GroupThread() : state_(std::make_shared<State>()) {}

GroupThread::~GroupThread() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ended = true;
  }
  state_->given.notify_one();
}

void GroupThread::run(std::function<void()> task) {
  if (!state_->started) {
    startWithoutSignals([state = state_] { work(state); }).detach();
    state_->started = true;
  }
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->task = std::move(task);
    state_->busy = true;
  }
  state_->given.notify_one();
}

bool GroupThread::isBusy() const { return state_->busy; }

void GroupThread::await(std::chrono::microseconds limit) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->done.wait_for(lock, limit, [this] { return !state_->busy; });
}

void GroupThread::work(const std::shared_ptr<State>& state) {
  std::unique_lock<std::mutex> lock(state->mutex);
  while (true) {
    state->given.wait(lock, [&] { return state->busy || state->ended; });
    if (!state->busy) {
      return;
    }
    lock.unlock();
    state->task();
    lock.lock();
    state->busy = false;
    lock.unlock();
    state->done.notify_all();
    try {
      // The next collective of the group, for which nobody may wait yet.
      Deferred::ofProcess().advance();
    } catch (...) {
      // Out of memory while a failure was noted; whoever waits for the operation tries it again.
    }
    lock.lock();
  }
}

}  // namespace jccl
