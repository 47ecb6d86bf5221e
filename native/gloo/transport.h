// gloo's TCP transport with six changes, made by overriding its virtual functions:
//   - an exception in the loop thread becomes a failure of the pair instead of std::terminate,
//   - a failing pair wakes the transfer that is being read or written too, not only the queued ones,
//   - waits have an end-to-end deadline and notice that a peer is in another operation,
//   - the loop thread yields when a caller holds the pair, instead of spinning through its time slice,
//   - a thread that waits for a message from or to one peer reads from that peer itself,
//   - a connection may be encrypted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <gloo/context.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/tcp/unbound_buffer.h>

#include "failure.h"
#include "tls.h"

namespace jccl {

namespace tcp = ::gloo::transport::tcp;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// The engine ends an operation that takes too long, by an abort.
constexpr Clock::time_point kNoDeadline = Clock::time_point::max();

// Slots are gloo's 64-bit message tags: one byte of kind, 32 bits of tag, 24 bits of step. gloo's own collectives
// use kinds 0x01 to 0x08.
constexpr uint64_t kPointToPoint = 0x10;
constexpr uint64_t kOwnCollective = 0x11;

inline uint64_t slotOf(uint64_t kind, uint32_t tag, uint32_t step) {
  return kind << 56 | static_cast<uint64_t>(tag) << 24 | (step & 0xffffff);
}

class Exchange;
class Mesh;

// A piece of memory that is being sent or received. Must be destroyed by the thread that waits for it.
class Transfer final : public tcp::UnboundBuffer {
 public:
  Transfer(const std::shared_ptr<Mesh>& mesh, void* memory, size_t bytes, Clock::time_point deadline);

  // gloo's collectives call these two. Their timeout is replaced by the deadline, which covers the whole operation.
  bool waitRecv(int* rank, Milliseconds timeout) override;
  bool waitSend(int* rank, Milliseconds timeout) override;

  void waitRecv() { waitRecv(nullptr, Milliseconds(0)); }
  void waitSend() { waitSend(nullptr, Milliseconds(0)); }
  // The one peer that it has to do with; who waits for it then reads from there instead of the loop thread.
  void setPeer(int peer) { peer_ = peer; }

  // Whether the next wait returns or throws at once.
  bool settled(bool receive);

  // All buffers of a mesh are transfers; one that is being destroyed is none any more, and may still be woken.
  static void fail(const ::gloo::WeakNonOwningPtr<tcp::UnboundBuffer>& transfer, const std::exception_ptr& cause) {
    const ::gloo::NonOwningPtr<tcp::UnboundBuffer> alive(transfer);
    if (alive) {
      (alive.operator->()->*&Transfer::signalException)(cause);
    }
  }

 private:
  void wait(std::condition_variable& condition, int& completions, const char* what);

  Mesh& mesh_;
  Clock::time_point deadline_;
  int peer_ = -1;
};

// The connection to one peer.
class Peer : public tcp::Pair {
 public:
  Peer(Mesh* mesh, tcp::Device* device, int rank, Milliseconds timeout);
  ~Peer() override;

  void handleEvents(tcp::Loop& loop, int events) override;

  // Takes over a connection.
  void adopt(Link link);

  // Has the loop thread leave what arrives to the caller, who then reads. False where another thread does so already, or
  // the connection is closed.
  bool beginReading();
  // Reads what arrives, and writes what is left to write, once either goes or the connection is closed. False when nothing
  // happened until then.
  bool readUntil(Clock::time_point time);
  void endReading();

  // Whether the connection ended by itself, and that is what the exception reports.
  bool endedWith(const std::exception_ptr& cause);

  // Wakes what waits for this peer.
  void wake(const std::exception_ptr& cause);
  // Wakes what waits for this peer and closes the connection.
  void fail(const std::exception_ptr& cause);

 protected:
  void changeState(state next) noexcept override;
  bool read() override;
  bool write(tcp::Op& op) override;

  Mesh& mesh_;

 private:
  bool readEncrypted();
  bool writeEncrypted(tcp::Op& op);
  bool moved(ssize_t bytes);
  void wakeLocked(const std::exception_ptr& cause);
  // With the pair's lock held.
  void handle(int events);
  void listenTo(int events) { device_->registerDescriptor(fd_, events, this); }

  std::unique_ptr<TlsChannel> tls_;  // null if the connection is plain
  bool givenUp_ = false;  // closed by this side, not because of the peer
  bool readByCaller_ = false;
};

// All connections of one communicator.
class Mesh : public tcp::Context {
 public:
  Mesh(std::shared_ptr<tcp::Device> device, int rank, int size, Milliseconds timeout);
  ~Mesh() override;

  std::unique_ptr<::gloo::transport::Pair>& createPair(int rank) override;
  // Exactly one side of a pair dials, which one is gloo's choice.
  bool dials(const sockaddr_storage& mine, const sockaddr_storage& theirs) const;
  // Makes a connection the one to a peer.
  void adopt(int rank, Link link);
  std::unique_ptr<::gloo::transport::UnboundBuffer> createUnboundBuffer(void* memory, size_t bytes) override;

  // For a transfer of a collective.
  std::unique_ptr<Transfer> transfer(const void* memory, size_t bytes);
  // For a transfer with a deadline of its own.
  std::unique_ptr<Transfer> transfer(const void* memory, size_t bytes, Clock::time_point deadline);

  // The collective that begins now; transfers made until it leaves belong to it. Above the tag's 32 bits there may be
  // gloo's number of the kind of collective.
  void enter(uint64_t tag, Clock::time_point deadline);
  void leave() { tag_ = kNoTag; }
  Clock::time_point deadline() const { return deadline_; }

  // Wakes every waiting thread and closes every connection; peers hear which rank was lost, if not -1. Safe from any thread.
  void fail(const std::exception_ptr& cause, int lost = -1);

  // Who receives from any rank is in no queue of a pair. Called whenever a connection ends, and when one begins to receive.
  void wakeReceiversIfAlone();

  // The rank whose connection ended an operation with an exception, or -1. Before it, others may have closed theirs that have
  // nothing to do with the operation.
  int lostBy(const std::exception_ptr& cause);
  // The first of gloo's connections that failed by itself: "rank 3: Connection closed by peer", or empty.
  std::string lostPeer();
  // Its rank, or -1.
  int lostRank();
  bool lost(int rank);
  // A peer that is in another operation at this position, or empty.
  virtual std::string otherOperation();
  // One of them that has told so over gloo's connections, or empty.
  std::string otherAnnouncement();

  // The second connections, which groups with PyTorch's ranks do without.
  Exchange& exchange() { return *exchange_; }

 protected:
  static constexpr uint64_t kNoTag = ~uint64_t{0};
  std::atomic<uint64_t> tag_{kNoTag};

 private:
  friend class Peer;
  friend class Transfer;
  void peerFailed(int rank, const std::exception_ptr& cause);
  void wakeReceiversFromAny(const std::exception_ptr& cause);
  Peer* peer(int rank) { return static_cast<Peer*>(pairs_[rank].get()); }

  const std::unique_ptr<Exchange> exchange_;
  Clock::time_point deadline_;
  std::mutex failureMutex_;
  std::string lostPeer_;
  int lostRank_ = -1;
  std::set<int> allLost_;
  std::atomic<int> open_{0};
};

// What gloo's collectives run on.
class Context final : public ::gloo::Context {
 public:
  Context(std::shared_ptr<tcp::Device> device, std::shared_ptr<Mesh> mesh, Milliseconds timeout);
};

// The process's device that is bound to a numeric address; shared by all communicators that use it.
std::shared_ptr<tcp::Device> deviceAt(const std::string& address);

// What a rank is told whose peer is in another operation at the same position.
std::string inOtherOperation(int rank);

// A message without the path of a source file that gloo puts in front.
std::string plainMessage(const std::exception_ptr& cause);

}  // namespace jccl
