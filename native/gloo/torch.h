// A rank of a group in which other ranks may be PyTorch's ProcessGroupGloo. Each collective calls the gloo algorithm that
// PyTorch calls for it, under the number that PyTorch gives it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "communicator.h"
#include "operation.h"
#include "torch_transport.h"

namespace jccl {

class TorchCommunicator final : public Communicator {
 public:
  TorchCommunicator(int rank, int size, int64_t timeoutMillis);

  void barrier(int64_t timeoutMillis) override;
  void broadcast(void* data, size_t count, int type, int root) override;
  void allReduce(const void* in, void* out, size_t count, int type, int kind, double factor) override;
  void reduce(const void* in, void* out, size_t count, int type, int kind, double factor, int root) override;
  void allGather(const void* in, void* out, size_t count, int type) override;
  void allGatherV(const void* in, void* out, const int64_t* counts, int type) override;
  void gather(const void* in, void* out, int64_t count, int type, int root) override;
  void scatter(const void* in, void* out, int64_t count, int type, int root) override;
  // One tensor with all parts. A list of parts is another operation to PyTorch, the one with counts.
  void reduceScatter(const void* in, void* out, int64_t count, int type, int kind, double factor) override;
  void reduceScatterV(
      const void* in, void* out, const int64_t* counts, int type, int kind, double factor) override;
  void allToAllV(
      const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) override;

 protected:
  std::shared_ptr<Mesh> makeMesh(std::shared_ptr<tcp::Device> device) const override;
  bool exchanges() const override { return false; }
  uint64_t messageSlot(size_t count, int type, int tag) const override;

 private:
  Operation begin(uint8_t kind, int type);
  std::unique_ptr<Transfer> transfer(const void* memory, size_t bytes);
};

}  // namespace jccl
