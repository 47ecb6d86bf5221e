// The thread on which a group makes the library's blocking calls, so that the caller can leave one at its deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace jccl {

// Starts a thread that gets no signals of the process: these belong to the threads of the JVM.
std::thread startWithoutSignals(std::function<void()> body);

class GroupThread {
 public:
  GroupThread();

  // Never waits: a call may not return. The thread ends after its task.
  ~GroupThread();

  GroupThread(const GroupThread&) = delete;
  GroupThread& operator=(const GroupThread&) = delete;

  // Has the thread run a task that does not throw. One at a time; starts the thread for the first one.
  void run(std::function<void()> task);

  bool isBusy() const;

  // Sleeps until the thread is idle, but not longer than this.
  void await(std::chrono::microseconds limit);

 private:
  struct State;

  static void work(const std::shared_ptr<State>& state);

  // Shared with the thread, which may outlive the group.
  const std::shared_ptr<State> state_;
};

}  // namespace jccl
