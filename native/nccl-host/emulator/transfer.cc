#include "transfer.h"

#include <algorithm>
#include <cstring>

namespace emulator {

namespace {

std::unique_ptr<Connection> open(ncclConnInfo* info, Connection::Side side, int steps) {
    return info == nullptr ? nullptr : std::make_unique<Connection>(info, side, steps);
}

}  // namespace

Transfer::Transfer(ncclConnInfo* previous, ncclConnInfo* next, Slices slices, size_t stepBytes,
                   const Reduction& reduction, std::vector<Chunk> chunks)
    : previous_(open(previous, Connection::Receive, slices.chunkSteps())),
      next_(open(next, Connection::Send, slices.chunkSteps())),
      slices_(slices),
      stepBytes_(stepBytes),
      reduction_(reduction),
      chunks_(std::move(chunks)) {}

bool Transfer::advance() {
    bool moved = false;
    while (!isDone() && isReady(chunks_[chunk_])) {
        const Chunk& chunk = chunks_[chunk_];
        size_t count = std::min(sliceCount(chunk), chunk.count - done_);
        moveSlice(chunk, count);
        done_ += count;
        moved = true;
        // Slices that are left when a chunk is short are empty, but their steps count.
        if (++slice_ < slices_.perChunk) continue;
        ++chunk_;
        slice_ = 0;
        done_ = 0;
    }
    return moved;
}

bool Transfer::isReady(const Chunk& chunk) const {
    return (!chunk.receive || previous_->isReady(slices_.steps)) && (!chunk.send || next_->isReady(slices_.steps));
}

/** Both ends of a connection have to cut alike. */
size_t Transfer::sliceCount(const Chunk& chunk) const {
    auto perChunk = static_cast<size_t>(slices_.perChunk);
    size_t most = stepBytes_ / reduction_.elementBytes() * static_cast<size_t>(slices_.steps);
    size_t even = (chunk.count + 16 * perChunk - 1) / (16 * perChunk) * 16;
    return std::max(even, most / 32);
}

void Transfer::moveSlice(const Chunk& chunk, size_t count) {
    size_t bytes = count * reduction_.elementBytes(), offset = done_ * reduction_.elementBytes();
    if (bytes > 0) {
        char* keep = chunk.keep == nullptr ? nullptr : view(chunk.keep + offset, bytes, "output of a kernel");
        char* sent = chunk.send ? next_->buffer(bytes) : nullptr;
        const char* own = chunk.own == nullptr ? nullptr : view(chunk.own + offset, bytes, "input of a kernel");
        const char* received = chunk.receive ? previous_->buffer(bytes) : nullptr;
        char* first = keep != nullptr ? keep : sent;
        reduction_.apply(first, own, received, count, chunk.last);
        if (keep != nullptr && sent != nullptr) std::memcpy(sent, keep, bytes);
    }
    if (chunk.receive) previous_->post(slices_.steps, bytes);
    if (chunk.send) next_->post(slices_.steps, bytes);
}

}  // namespace emulator
