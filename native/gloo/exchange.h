// A rank's second connection to each peer. The thread that calls a collective moves the messages itself: it writes to all
// peers, reads from all, and sleeps in poll() until one of them is ready. gloo's own connections need two more changes of
// thread, since its loop thread reads for the thread that waits, and one more journey, since a receiver must announce
// itself before the sender writes.
//
//     rank 0:  send ──────╮ ╭── receive ── reduce          Each message is a header and the elements. A header that is
//                          ╳                               not the expected one tells that the ranks are in different
//     rank 1:  send ──────╯ ╰── receive ── reduce          operations. How far a sender gets ahead is up to TCP.
//
// Collectives of a communicator come one after another and in the same order on all ranks, so messages need no matching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <poll.h>

#include "tls.h"
#include "transport.h"

namespace jccl {

class Exchange final {
 public:
  Exchange(Mesh& mesh, int size);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // How long a run looks for messages before it sleeps.
  void setBusyPolling(std::chrono::nanoseconds duration) { busyPolling_ = duration; }

  // Takes over a connection.
  void adopt(int peer, Link link);

  // What the next run does with a peer, which must do the opposite with this rank. Where one of the two has nothing to
  // say the message is empty, but both ranks know then that they are in the same operation.
  void with(int peer, const void* out, size_t outBytes, void* in, size_t inBytes);
  void send(int peer, const void* out, size_t bytes) { with(peer, out, bytes, nullptr, 0); }
  void receive(int peer, void* in, size_t bytes) { with(peer, nullptr, 0, in, bytes); }
  // Returns when all is sent and received.
  void run(uint32_t tag, Clock::time_point deadline);

  // Ends this and every later run with the cause. Peers are told which rank was lost, if one was, so that they do not take
  // this one for it. Safe from any thread.
  void fail(const std::exception_ptr& cause, int lost) noexcept;

  // A peer that waits here with another operation at this position, or empty. Safe from any thread.
  std::string otherOperation(uint32_t tag);

 private:
  struct Header {
    uint64_t tag;
    uint64_t bytes;     // that follow
    uint64_t expected;  // that the sender expects in return
  };
  struct Message {
    bool open = false;  // not moved to its end
    Header header;
    char* memory;
    size_t bytes;
    size_t moved;  // of header and memory
  };
  struct Connection {
    Link link;
    Message out;
    Message in;
  };

  class Rest;

  void write(int peer);
  void read(int peer);
  void check(int peer);
  // Until one of them is ready.
  void wait(Clock::time_point deadline);
  bool finished() const;
  [[noreturn]] void ended(int peer, const std::string& why);
  [[noreturn]] void lost(int peer, const std::string& why);
  [[noreturn]] void told(int peer, uint64_t lost);
  std::string timedOut() const;

  Mesh& mesh_;
  std::chrono::nanoseconds busyPolling_{0};
  uint32_t tag_ = 0;
  std::vector<Connection> connections_;
  std::vector<pollfd> waiting_;
  std::mutex running_;  // held by whoever reads from the connections

  std::mutex failureMutex_;
  std::exception_ptr failure_;
};

}  // namespace jccl
