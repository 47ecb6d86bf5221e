// How ranks connect: as with gloo's own listener, a rank has one port for all its peers, and a new connection says to which of
// them it belongs. Unlike gloo's, an error while it connects is a failure of the group and not the end of the process, a call
// has a deadline, and the port is closed when all peers are connected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "tls.h"
#include "transport.h"

namespace jccl {

// gloo's serialised address.
struct SocketAddress {
  sockaddr_storage address;
  int64_t unused;  // -1
};

// What a rank publishes for one peer.
struct Contact {
  SocketAddress where;
  int64_t number;  // what that peer says first when it connects
};

// Connects, and says the number. The connection is plain without TLS.
Link dial(const Contact& contact, const TlsContext* tls, Clock::time_point deadline);

// The port of a rank while it connects to its peers.
class Listener final {
 public:
  // Connections are plain without TLS, which must live as long. Each peer has two numbers from the first one on.
  Listener(const std::string& address, const TlsContext* tls, int64_t firstNumber, int size);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const sockaddr_storage& address() const { return address_; }
  // Whether a connection has come whose first word was this number, until the deadline.
  bool await(int64_t number, Clock::time_point deadline);

  // That connection.
  Link accept(int64_t number, Clock::time_point deadline);

 private:
  struct Caller {
    Link link;
    short events;  // that it waits for
    int64_t word;
    size_t read;
    Clock::time_point since;  // when it was accepted, without the time in which the listener did not listen to it
  };

  // Accepts callers up to the bound. The rest stay in the system's queue.
  void acceptSome();
  // Closes callers that have not said their number in time; sooner if there is no room for others.
  void dropIdle();
  // Whether the caller is done with: gone, or known by its number.
  bool listenTo(Caller& caller);

  const TlsContext* const tls_;
  const int64_t firstNumber_;
  const int64_t numbers_;
  const size_t mostCallers_;
  int fd_ = -1;
  sockaddr_storage address_{};
  std::vector<Caller> callers_;
  std::map<int64_t, Link> known_;
  std::string rejected_;  // the last caller that was
  Clock::time_point listened_;  // when it listened to its callers last
  // Without a free descriptor: since when, and when to try again. Both are 0 otherwise.
  Clock::time_point shortSince_;
  Clock::time_point acceptAgain_;
};

}  // namespace jccl
