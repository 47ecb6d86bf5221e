#include "torch.h"

#include <cstring>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/types.h>

#include "reduce.h"

namespace jccl {

TorchCommunicator::TorchCommunicator(int rank, int size, int64_t timeoutMillis)
    : Communicator(rank, size, timeoutMillis) {}

std::shared_ptr<Mesh> TorchCommunicator::makeMesh(std::shared_ptr<tcp::Device> device) const {
  return std::make_shared<TorchMesh>(std::move(device), rank_, size_, timeout_);
}

uint64_t TorchCommunicator::messageSlot(size_t, int, int tag) const { return tag; }

// PyTorch's ranks count a call before they refuse its type.
Operation TorchCommunicator::begin(uint8_t kind, int type) {
  const uint32_t tag = sequence_++;
  if (type == kInt16 || type > kBool) {
    throw Failure(
        kInvalid, std::string("PyTorch's gloo has no collectives of ") + (type == kInt16 ? "int16" : "float8") +
                      "; convert the elements, or view them as uint8 if nothing is reduced");
  }
  return Operation(*mesh_, tag, kNoDeadline, kind);
}

// gloo wants an address even where nothing is moved.
std::unique_ptr<Transfer> TorchCommunicator::transfer(const void* memory, size_t bytes) {
  return mesh_->transfer(bytes == 0 ? this : memory, bytes);
}

// Ranks that connect as PyTorch's do not meet then, so none has less time.
void TorchCommunicator::barrier(int64_t) {
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(::gloo::kBarrierSlotPrefix, kUint8);
  ::gloo::BarrierOptions options(context_);
  options.setTag(op.tag);
  ::gloo::barrier(options);
}

void TorchCommunicator::broadcast(void* data, size_t count, int type, int root) {
  if (size_ == 1) {
    return;
  }
  const Operation op = begin(::gloo::kBroadcastSlotPrefix, type);
  ::gloo::BroadcastOptions options(context_);
  options.setOutput<uint8_t>(transfer(data, count * elementSizeOf(type)));
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::broadcast(options);
}

void TorchCommunicator::allReduce(
    const void* in, void* out, size_t count, int type, int kind, double /* factor */) {
  const size_t bytes = count * elementSizeOf(type);
  const Combine combine = combiner(type, kind);
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(::gloo::kAllreduceSlotPrefix, type);
  if (count == 0) {
    return;  // as PyTorch does, with a number of its own all the same
  }
  ::gloo::AllreduceOptions options(context_);
  setMemory(options, in == out ? nullptr : transfer(in, bytes), transfer(out, bytes), elementSizeOf(type));
  options.setReduceFunction(combine);
  options.setTag(op.tag);
  ::gloo::allreduce(options);
  if (kind == kAvg) {
    divideOf(type)(out, out, count, size_);
  }
}

void TorchCommunicator::reduce(
    const void* in, void* out, size_t count, int type, int kind, double /* factor */, int root) {
  const size_t bytes = count * elementSizeOf(type);
  const Combine combine = combiner(type, kind);
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(::gloo::kReduceSlotPrefix, type);
  if (count == 0) {
    return;
  }
  if (rank_ != root) {
    out = scratch(bytes);  // gloo's ring needs a place for partial results on every rank
  }
  ::gloo::ReduceOptions options(context_);
  setMemory(options, in == out ? nullptr : transfer(in, bytes), transfer(out, bytes), elementSizeOf(type));
  options.setReduceFunction(combine);
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::reduce(options);
  if (kind == kAvg && rank_ == root) {
    divideOf(type)(out, out, count, size_);
  }
}

void TorchCommunicator::allGather(const void* in, void* out, size_t count, int type) {
  const size_t bytes = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, bytes);
  }
  const Operation op = begin(::gloo::kAllgatherSlotPrefix, type);
  if (count == 0) {
    return;
  }
  ::gloo::AllgatherOptions options(context_);
  if (in != at(out, rank_ * bytes)) {
    options.setInput<uint8_t>(transfer(in, bytes));
  }
  options.setOutput<uint8_t>(transfer(out, bytes * size_));
  options.setTag(op.tag);
  ::gloo::allgather(options);
}

void TorchCommunicator::allGatherV(const void*, void*, const int64_t*, int) {
  throw Failure(kInvalid, "PyTorch's ranks gather equal parts only: pad them to the largest");
}

void TorchCommunicator::gather(const void* in, void* out, int64_t count, int type, int root) {
  const size_t part = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, part);
  }
  const Operation op = begin(::gloo::kGatherSlotPrefix, type);
  ::gloo::GatherOptions options(context_);
  options.setInput<uint8_t>(transfer(in, part));
  if (rank_ == root) {
    options.setOutput<uint8_t>(transfer(out, part * size_));
  }
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::gather(options);
}

void TorchCommunicator::scatter(const void* in, void* out, int64_t count, int type, int root) {
  const size_t part = count * elementSizeOf(type);
  if (size_ == 1) {
    return copy(out, in, part);
  }
  const Operation op = begin(::gloo::kScatterSlotPrefix, type);
  ::gloo::ScatterOptions options(context_);
  if (rank_ == root) {
    std::vector<std::unique_ptr<::gloo::transport::UnboundBuffer>> parts;
    for (int i = 0; i < size_; i++) {
      parts.push_back(transfer(at(in, i * part), part));
    }
    options.setInputs<uint8_t>(std::move(parts));
  }
  options.setOutput<uint8_t>(transfer(out, part));
  options.setRoot(root);
  options.setTag(op.tag);
  ::gloo::scatter(options);
}

// PyTorch's gloo reduces everything to all and takes its part.
void TorchCommunicator::reduceScatter(
    const void* in, void* out, int64_t count, int type, int kind, double factor) {
  const size_t part = count * elementSizeOf(type);
  void* all = size_ == 1 ? out : scratch(part * size_);
  allReduce(in, all, count * size_, type, kind, factor);
  copy(out, at(all, rank_ * part), size_ == 1 ? 0 : part);
}

// And each part of a list by itself.
void TorchCommunicator::reduceScatterV(
    const void* in, void* out, const int64_t* counts, int type, int kind, double factor) {
  const Parts parts(counts, size_, elementSizeOf(type));
  void* others = scratch(parts.largest());
  for (int i = 0; i < size_; i++) {
    allReduce(at(in, parts.offset(i)), i == rank_ ? out : others, counts[i], type, kind, factor);
  }
}

void TorchCommunicator::allToAllV(
    const void* in, void* out, const int64_t* inCounts, const int64_t* outCounts, int type) {
  const Parts sends(inCounts, size_, elementSizeOf(type));
  const Parts receives(outCounts, size_, elementSizeOf(type));
  if (sends.bytes(rank_) != receives.bytes(rank_)) {
    throw Failure(kInvalid, "this rank's own part differs in size between input and output");
  }
  if (size_ == 1) {
    return copy(out, in, sends.total());
  }
  const Operation op = begin(::gloo::kAlltoallSlotPrefix, type);
  ::gloo::AlltoallvOptions options(context_);
  options.setInput<uint8_t>(
      transfer(in, sends.total()), std::vector<int64_t>(sends.all().begin(), sends.all().end()));
  options.setOutput<uint8_t>(
      transfer(out, receives.total()), std::vector<int64_t>(receives.all().begin(), receives.all().end()));
  options.setTag(op.tag);
  ::gloo::alltoallv(options);
}

}  // namespace jccl
