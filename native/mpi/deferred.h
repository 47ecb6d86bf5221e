// Operations that were issued but are not yet in the library's hands: probe-before-receive, and the same for collectives.
//
// Open MPI (4.1, 5.0) writes a message that is longer than what the receiver expects past the end of its memory, when it fetches
// or puts it straight there, as it does above the size that it sends eagerly. So a receive of more than that is given to
// it only when the message is there and its length known, and such a collective only when the ranks have compared what
// they are about to do. Shorter receives have tags that no long message has. Whoever waits for anything brings all of
// them forward, as MPI does with what it has in hand.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "operation.h"

namespace jccl {

class Deferred {
 public:
  // The one of this process: a rank that waits in one group must bring forward what another needs.
  static Deferred& ofProcess();

  bool isEmpty() const { return count_ == 0; }

  void add(Communicator& owner, Operation& operation);

  // Takes an operation back. Afterwards nobody else uses it.
  void remove(Operation& operation);

  // Whether something of this communicator must be issued first.
  bool holdsCollectiveOf(const Communicator& owner);

  // Issues what can be. Does nothing while another thread does.
  void advance() {
    if (count_ > 0) {
      advanceAll();
    }
  }

 private:
  struct Entry {
    Communicator* owner;
    Operation* operation;

    bool isReceive() const { return operation->expected >= 0; }
  };

  void advanceAll();
  bool mustWait(size_t index) const;

  std::mutex mutex_;
  std::atomic<int> count_{0};
  // In the order in which they were issued.
  std::vector<Entry> entries_;
};

}  // namespace jccl
