// A rank of a group whose ranks all use this shim: gloo's collectives, the ones that gloo lacks, and signatures in all
// messages.
#pragma once

#include "communicator.h"
#include "operation.h"
#include "reduce.h"

namespace jccl {

class Collectives final : public Communicator {
 public:
  Collectives(int rank, int size, int64_t timeoutMillis, std::chrono::nanoseconds busyPolling)
      : Communicator(rank, size, timeoutMillis), busyPolling_(busyPolling) {}

  void barrier(int64_t timeoutMillis) override;
  void broadcast(void* data, size_t count, int type, int root) override;
  void allReduce(const void* in, void* out, size_t count, int type, int kind, double factor) override;
  void reduce(const void* in, void* out, size_t count, int type, int kind, double factor, int root) override;
  void allGather(const void* in, void* out, size_t count, int type) override;
  void allGatherV(const void* in, void* out, const int64_t* counts, int type) override;
  void gather(const void* in, void* out, int64_t count, int type, int root) override;
  void scatter(const void* in, void* out, int64_t count, int type, int root) override;
  void reduceScatter(const void* in, void* out, int64_t count, int type, int kind, double factor) override;
  void reduceScatterV(
      const void* in, void* out, const int64_t* counts, int type, int kind, double factor) override;
  void allToAllV(
      const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) override;

 protected:
  std::shared_ptr<Mesh> makeMesh(std::shared_ptr<tcp::Device> device) const override;
  bool exchanges() const override { return true; }
  uint64_t messageSlot(size_t count, int type, int tag) const override;

 private:
  template <typename Call>
  void forOthers(Call&& call) const {
    for (int i = 0; i < size_; i++) {
      if (i != rank_) {
        call(i);
      }
    }
  }
  Operation begin(const Signature& signature, Clock::time_point deadline = kNoDeadline);
  void meet(const Operation& op);
  void exchangeAndReduce(
      const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine);
  void reduceByDoubling(
      const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine);
  void reduceAndGather(
      const Operation& op, const void* in, void* out, size_t count, size_t elementSize, Combine combine);
  void reduceDirect(
      const Operation& op, const void* in, void* out, size_t bytes, size_t count, Combine combine, int root,
      char* parts);
  void reduceChain(
      const Operation& op, const void* in, void* out, size_t bytes, size_t elementSize, Combine combine, int root,
      char* received);
  void combineInOrder(const void* own, void* out, char* parts, size_t bytes, size_t count, Combine combine);
  bool gathersDirectly(size_t bytes) const;
  void allGatherDirect(const Operation& op, const void* in, void* out, const Parts& parts);
  void reduceScatterDirect(
      const Operation& op, const void* in, void* out, const Parts& parts, char* received, Combine combine,
      size_t elementSize);
  void reduceScatterRing(
      const Operation& op, const void* in, void* out, const Parts& parts, char* lanes, Combine combine,
      size_t elementSize);

  const std::chrono::nanoseconds busyPolling_;
};

}  // namespace jccl
