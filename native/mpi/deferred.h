// Receives that were issued but are not yet in the library's hands: probe before receive.
//
// Open MPI (4.1, 5.0) writes a message that is longer than what the receiver expects past the end of its memory, when it fetches
// or puts it straight there, as it does above the size that it sends eagerly. So a receive of more than that is given to
// it only when the message is there and its length known. Shorter receives have tags that no long message has. Whoever
// waits for anything brings all of them forward, as MPI does with what it has in hand.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "message.h"

namespace jccl {

class Communicator;

class Deferred {
 public:
  // The one of this process: a rank that waits in one group must bring forward what another needs.
  static Deferred& ofProcess();

  bool isEmpty() const { return count_ == 0; }

  void add(Communicator& owner, Message& message);

  // Takes a receive back. Afterwards nobody else uses it.
  void remove(Message& message);

  // Issues what can be. Does nothing while another thread does.
  void advance() {
    if (count_ > 0) {
      advanceAll();
    }
  }

  // While it exists, a thread of this process brings forward what is deferred: the one that made it is inside the library.
  class Meanwhile {
   public:
    Meanwhile();
    ~Meanwhile();
    Meanwhile(const Meanwhile&) = delete;
    Meanwhile& operator=(const Meanwhile&) = delete;

   private:
    const bool helped_;
  };

 private:
  struct Entry {
    Communicator* owner;
    Message* message;
  };

  void advanceAll();
  bool mustWait(size_t index) const;

  std::mutex mutex_;
  std::atomic<int> count_{0};
  // In the order in which they were issued.
  std::vector<Entry> entries_;
};

}  // namespace jccl
