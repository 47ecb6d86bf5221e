#include "connection.h"

namespace emulator {

namespace {

uint64_t roundUp(uint64_t step, int steps) {
    auto unit = static_cast<uint64_t>(steps);
    return (step + unit - 1) / unit * unit;
}

}  // namespace

Connection::Connection(ncclConnInfo* info, Side side, int steps)
    : info_(at(info, "connection")),
      side_(side),
      step_(roundUp(info_.step, steps)),
      head_(at(info_.head, "head of a connection")),
      tail_(at(info_.tail, "tail of a connection")),
      fifo_(info_.connFifo == nullptr ? nullptr : view(info_.connFifo, NCCL_STEPS, "fifo of a connection")) {
    if (info_.netDeviceHandle.netDeviceType == NCCL_NET_DEVICE_UNPACK) {
        refuse("a network that needs the device to unpack", "not emulated");
    }
    if (side_ == Receive) release(head_, step_);
}

Connection::~Connection() { info_.step = step_; }

bool Connection::isReady(int steps) const {
    uint64_t end = step_ + static_cast<uint64_t>(steps);
    return side_ == Send ? acquire(head_) + NCCL_STEPS >= end : acquire(tail_) >= end;
}

char* Connection::buffer(size_t bytes) const {
    char* first = info_.buffs[NCCL_PROTO_SIMPLE];
    size_t slot = step_ % NCCL_STEPS;
    bool shared = fifo_ != nullptr && fifo_[slot].mode == NCCL_MODE_OFFSET;
    size_t offset = shared ? static_cast<size_t>(__atomic_load_n(&fifo_[slot].offset, __ATOMIC_ACQUIRE))
                           : slot * static_cast<size_t>(info_.stepSize);
    return view(first + offset, bytes, "buffer of a connection");
}

void Connection::post(int steps, size_t bytes) {
    if (side_ == Send && fifo_ != nullptr) {
        __atomic_store_n(&fifo_[step_ % NCCL_STEPS].size, static_cast<ssize_t>(bytes), __ATOMIC_RELEASE);
    }
    step_ += static_cast<uint64_t>(steps);
    release(side_ == Send ? tail_ : head_, step_);
}

}  // namespace emulator
