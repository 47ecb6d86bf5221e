// One rank's end of a group: gloo's collectives, and the ones that gloo lacks, on one mesh.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reduce.h"
#include "transport.h"

namespace jccl {

class Operation;
class Parts;
class Signature;

class Communicator final {
 public:
  Communicator(int rank, int size, int64_t timeoutMillis);
  ~Communicator();

  // Forming the mesh: listen on every rank, exchange the addresses, connect to each peer in rank order.
  void listen(const std::string& address);
  std::vector<char> addressFor(int peer);
  void connect(int peer, const std::vector<char>& address, int64_t timeoutMillis);

  // Memory is contiguous, counts are elements. Arguments have been checked by the caller.
  void barrier();
  void broadcast(void* data, size_t count, int type, int root);
  void allReduce(const void* in, void* out, size_t count, int type, int kind, double factor);
  void reduce(const void* in, void* out, size_t count, int type, int kind, double factor, int root);
  void allGather(const void* in, void* out, size_t count, int type);
  void allGatherV(const void* in, void* out, const int64_t* counts, int type);
  void gather(const void* in, void* out, int64_t count, int type, int root);
  void scatter(const void* in, void* out, int64_t count, int type, int root);
  void reduceScatterV(const void* in, void* out, const int64_t* counts, int type, int kind, double factor);
  void allToAllV(const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type);

  // Return a request; peer -1 receives from any rank.
  int64_t send(const void* data, size_t count, int type, int peer, int tag);
  int64_t recv(void* data, size_t count, int type, int peer, int tag);
  bool test(int64_t request);
  // Returns the sender's rank for a receive, else -1.
  int await(int64_t request);

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
  void* scratch(size_t bytes);

  Operation begin(const Signature& signature);
  void meet(const Operation& op);
  void exchangeAndReduce(
      const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine);
  void reduceScatterDirect(
      const Operation& op, const void* in, void* out, const Parts& parts, char* received, Combine combine,
      size_t elementSize);
  void reduceScatterRing(
      const Operation& op, const void* in, void* out, const Parts& parts, char* lanes, Combine combine,
      size_t elementSize);

  const int rank_;
  const int size_;
  const Milliseconds timeout_;
  std::shared_ptr<tcp::Device> device_;
  std::shared_ptr<Mesh> mesh_;
  std::shared_ptr<Context> context_;
  uint32_t sequence_ = 0;
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
