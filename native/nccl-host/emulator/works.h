// The works that a kernel is launched with, as transfers.
#pragma once
#include <memory>
#include <vector>

#include "functions.h"
#include "transfer.h"

namespace emulator {

/** What a block of a kernel knows: the communicator, and the one channel that is its part. */
struct Block {
    const ncclKernelComm& comm;
    const ncclDevChannel& channel;
    int channelId;
    ncclConnInfo* send(int rank, int connection) const;
    ncclConnInfo* receive(int rank, int connection) const;
};

using Transfers = std::vector<std::unique_ptr<Transfer>>;

std::unique_ptr<Transfer> collective(const Block& block, const Function& function, const ncclDevWorkColl& work);
/** Broadcasts from several ranks, taken in turns. */
std::unique_ptr<Transfer> broadcasts(const Block& block, std::vector<ncclDevWorkBcast> works);
/** Adds what is sent and what is received. A message to the rank itself is moved at once. */
void messages(const Block& block, const ncclDevWorkP2p& work, Transfers& transfers);

}  // namespace emulator
