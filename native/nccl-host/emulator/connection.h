// The ends of NCCL's own connections between ranks, in the protocol SIMPLE: a ring of NCCL_STEPS buffers, with a count
// of the steps that the sender has filled (tail) and one of those that the receiver has emptied (head).
#pragma once
#include "device.h"
#include "collectives.h"
#include "memory.h"

namespace emulator {

class Connection {
public:
    enum Side { Send, Receive };

    /** `steps` of the work that follows are one chunk. */
    Connection(ncclConnInfo* info, Side side, int steps);
    /** Keeps the count of steps for the next work. */
    ~Connection();
    Connection(const Connection&) = delete;

    /** Whether the next steps can be written, or read. */
    bool isReady(int steps) const;
    /** Where the bytes of the next steps are, or go to. */
    char* buffer(size_t bytes) const;
    /** Hands the next steps to the other end. */
    void post(int steps, size_t bytes);

private:
    ncclConnInfo& info_;
    const Side side_;
    uint64_t step_;
    uint64_t& head_;
    uint64_t& tail_;
    /** For connections with a proxy of NCCL in between; or null. */
    ncclConnFifo* const fifo_;
};

}  // namespace emulator
