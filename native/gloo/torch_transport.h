// What gloo does not do by itself: a message whose sender and receiver expect different
// sizes is a failure before it is written, as it would end a PyTorch process that received it. And connections that stay
// a while after their communicator.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport.h"

namespace jccl {

// Connections of communicators that were closed before their peer has said a word. PyTorch's ranks take the end of a
// connection for a failure while they still connect to others, so such a one stays until the peer has spoken or closed
// it, or its time is over. A thread looks through them once a second while there are any.
class Farewells final {
 public:
  static Farewells& ofProcess();

  // Keeps the connection behind a descriptor, which the caller may close.
  void keep(int fd, Clock::time_point deadline) noexcept;

 private:
  struct Kept {
    int fd;
    Clock::time_point deadline;
  };

  void watch();
  // Returns whether any is left.
  bool reap();

  std::mutex mutex_;
  std::vector<Kept> kept_;
  bool watched_ = false;
};

class TorchPeer final : public Peer {
 public:
  TorchPeer(Mesh* mesh, tcp::Device* device, int rank, Milliseconds timeout);
  ~TorchPeer() override;

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

  std::string otherOperation() override;
};

}  // namespace jccl
