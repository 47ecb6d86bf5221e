// What one block of a kernel does for one work: a list of chunks, each received, reduced, sent or kept.
#pragma once
#include <memory>
#include <vector>

#include "connection.h"
#include "reduction.h"

namespace emulator {

/** One chunk: what comes from the rank's own memory and from the previous rank goes there and to the next rank. */
struct Chunk {
    /** Addresses of the user's memory, or null. */
    const char* own = nullptr;
    char* keep = nullptr;
    bool receive = false;
    bool send = false;
    /** The result is the final one of a reduction. */
    bool last = false;
    size_t count = 0;
};

/** How a chunk is cut: it is handed on slice by slice. */
struct Slices {
    int perChunk = 1;
    int steps = 1;

    int chunkSteps() const { return perChunk * steps; }
};

/** Goes on from where it stopped, so that one thread can run many. */
class Transfer {
public:
    /** The connections are those of a channel, or null where no chunk needs them. */
    Transfer(ncclConnInfo* previous, ncclConnInfo* next, Slices slices, size_t stepBytes, const Reduction& reduction,
             std::vector<Chunk> chunks);

    /** Does what can be done without waiting. Returns whether that was anything. */
    bool advance();
    bool isDone() const { return chunk_ == chunks_.size(); }

private:
    bool isReady(const Chunk& chunk) const;
    void moveSlice(const Chunk& chunk, size_t count);
    size_t sliceCount(const Chunk& chunk) const;

    std::unique_ptr<Connection> previous_;
    std::unique_ptr<Connection> next_;
    const Slices slices_;
    const size_t stepBytes_;
    const Reduction reduction_;
    const std::vector<Chunk> chunks_;
    size_t chunk_ = 0;
    int slice_ = 0;
    size_t done_ = 0;
};

}  // namespace emulator
