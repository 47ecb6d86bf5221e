// What PyTorch's gloo does otherwise than the libgloo that is linked: a rank has one port for all its peers, and a new
// connection says to which of them it belongs. And what neither does: a message whose sender and receiver expect
// different sizes is a failure before it is written, as it would end a PyTorch process that received it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
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

class TorchPeer final : public Peer {
 public:
  using Peer::Peer;

  // Takes over a connection.
  void adopt(int fd);

 protected:
  bool read() override;
  bool write(tcp::Op& op) override;

 private:
  bool readHeader();
  void checkArrival() const;

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
