// What PyTorch's gloo does otherwise than the libgloo that is linked: a rank has one port for all its peers, and a new
// connection says to which of them it belongs. And what neither does: a message whose sender and receiver expect
// different sizes is a failure before it is written, as it would end a PyTorch process that received it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/socket.h>

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

// Exactly one side of a pair dials: the one with the larger address, by gloo's order.
bool dials(const sockaddr_storage& mine, const sockaddr_storage& theirs);

// Connects, and says the number. Returns a socket.
int dial(const Contact& contact, Clock::time_point deadline);

// The port of a rank while it connects to its peers.
class Listener final {
 public:
  explicit Listener(const std::string& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const sockaddr_storage& address() const { return address_; }
  // The connection whose first word was this number.
  int accept(int64_t number, Clock::time_point deadline);

 private:
  struct Caller {
    int fd;
    int64_t word;
    size_t read;
  };

  void acceptAll();
  // Whether the caller is done with: gone, or known by its number.
  bool listenTo(Caller& caller);

  int fd_ = -1;
  sockaddr_storage address_{};
  std::vector<Caller> callers_;
  std::map<int64_t, int> known_;
};

// Connections of communicators that were closed before their peer has said a word. PyTorch's ranks take the end of a
// connection for a failure while they still connect to others, so such a one stays until the peer has spoken or closed
// it, or its time is over. Looked through whenever a communicator is made or closed.
class Farewells final {
 public:
  static Farewells& ofProcess();

  // Keeps the connection behind a descriptor, which the caller may close.
  void keep(int fd, Clock::time_point deadline) noexcept;
  void reap() noexcept;

 private:
  struct Kept {
    int fd;
    Clock::time_point deadline;
  };

  std::mutex mutex_;
  std::vector<Kept> kept_;
};

class TorchPeer final : public Peer {
 public:
  TorchPeer(Mesh* mesh, tcp::Device* device, int rank, Milliseconds timeout);
  ~TorchPeer() override;

  // Takes over a connection.
  void adopt(int fd);

 protected:
  bool read() override;
  bool write(tcp::Op& op) override;

 private:
  bool readHeader();
  void checkArrival() const;

  const Milliseconds timeout_;
  // Whether the peer has sent anything, which it does not before it is connected to all.
  bool heard_ = false;
  // By slot, the sizes that the peer is ready to receive and that were not sent yet.
  std::unordered_map<uint64_t, std::deque<size_t>> expected_;
};

class TorchMesh final : public Mesh {
 public:
  using Mesh::Mesh;

  std::unique_ptr<::gloo::transport::Pair>& createPair(int rank) override;
  void adopt(int rank, int fd);

  std::string otherOperation() override;
};

}  // namespace jccl
