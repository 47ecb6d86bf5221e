// One rank's end of a group: forming the mesh, failures, point-to-point, abort. Who the other ranks are decides what
// collectives and messages look like, so those are virtual.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "listener.h"
#include "tls.h"
#include "transport.h"

namespace jccl {

class Communicator {
 public:
  virtual ~Communicator();

  // Encrypts all connections. Called before listen.
  void setTls(std::unique_ptr<const TlsContext> tls) { tls_ = std::move(tls); }

  // Forming the mesh: listen on every rank, exchange the addresses, connect to each peer in rank order.
  void listen(const std::string& address, int64_t firstNumber);
  std::vector<char> addressFor(int peer) const;
  // Whether connect() need not wait for the peer, since it has called or is to be called. Waits that long.
  bool awaitCaller(int peer, const std::vector<char>& address, int64_t timeoutMillis);
  void connect(int peer, const std::vector<char>& address, int64_t timeoutMillis);

  // Memory is contiguous, counts are elements. Arguments have been checked by the caller.
  virtual void barrier(int64_t timeoutMillis) = 0;
  virtual void broadcast(void* data, size_t count, int type, int root) = 0;
  virtual void allReduce(const void* in, void* out, size_t count, int type, int kind, double factor) = 0;
  virtual void reduce(
      const void* in, void* out, size_t count, int type, int kind, double factor, int root) = 0;
  virtual void allGather(const void* in, void* out, size_t count, int type) = 0;
  virtual void allGatherV(const void* in, void* out, const int64_t* counts, int type) = 0;
  virtual void gather(const void* in, void* out, int64_t count, int type, int root) = 0;
  virtual void scatter(const void* in, void* out, int64_t count, int type, int root) = 0;
  virtual void reduceScatter(const void* in, void* out, int64_t count, int type, int kind, double factor) = 0;
  virtual void reduceScatterV(
      const void* in, void* out, const int64_t* counts, int type, int kind, double factor) = 0;
  virtual void allToAllV(
      const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) = 0;

  // Return a request; peer -1 receives from any rank.
  int64_t send(const void* data, size_t count, int type, int peer, int tag);
  int64_t recv(void* data, size_t count, int type, int peer, int tag);
  bool test(int64_t request);
  // Returns the sender's rank for a receive, else -1.
  int await(int64_t request);

  // Whether the connection to a peer has ended, though a call may not have noticed.
  bool lost(int peer);

  void abort();

  // Runs a call and turns whatever it throws into a status; a failed communicator is closed to further calls.
  template <typename Call>
  int guard(Call&& call) noexcept {
    try {
      enter();
      call();
      return kOk;
    } catch (...) {
      return fail(std::current_exception());
    }
  }
  std::string message();

  int size() const { return size_; }

 protected:
  Communicator(int rank, int size, int64_t timeoutMillis);

  virtual std::shared_ptr<Mesh> makeMesh(std::shared_ptr<tcp::Device> device) const = 0;
  // Whether there is a second connection to each peer.
  virtual bool exchanges() const = 0;
  // What a message of this shape has as its slot.
  virtual uint64_t messageSlot(size_t count, int type, int tag) const = 0;
  void* scratch(size_t bytes);
  // Whether all ranks listen at one address. All ranks answer alike.
  bool isOnOneHost() const { return isOnOneHost_; }

  const int rank_;
  const int size_;
  const Milliseconds timeout_;
  std::shared_ptr<Mesh> mesh_;
  std::shared_ptr<Context> context_;
  // How many collectives this rank has begun.
  uint32_t sequence_ = 0;

 private:
  struct Request {
    std::unique_ptr<Transfer> transfer;
    bool receive;
  };

  void enter();
  int fail(const std::exception_ptr& cause) noexcept;
  int64_t keep(std::unique_ptr<Transfer> transfer, bool receive);
  std::shared_ptr<Request> find(int64_t request);
  void checkPeer(int peer) const;

  std::unique_ptr<const TlsContext> tls_;  // null if connections are plain
  // While it connects to its peers.
  std::unique_ptr<Listener> listener_;
  int64_t firstNumber_ = 0;  // with which rank 0 introduces itself there
  int connected_ = 0;
  bool isOnOneHost_ = true;
  std::vector<char> scratch_;

  std::atomic<bool> aborted_{false};
  std::mutex requestsMutex_;
  std::map<int64_t, std::shared_ptr<Request>> requests_;
  int64_t nextRequest_ = 1;

  std::mutex failureMutex_;
  std::atomic<int> status_{kOk};
  std::string message_;
};

}  // namespace jccl
