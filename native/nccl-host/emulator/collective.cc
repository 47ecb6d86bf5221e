// Collectives on rings, in the order of chunks that both NCCL's kernels and its proxies count on.
#include <algorithm>

#include "works.h"

namespace emulator {

namespace {

/** One channel's part of a collective, in elements. */
struct Part {
    /** Of the whole collective. */
    size_t total = 0;
    size_t offset = 0;
    size_t count = 0;
    size_t chunk = 0;
};

class Ring {
public:
    Ring(const Block& block, const ncclDevWorkColl& work, const Reduction& reduction)
        : ranks_(block.comm.nRanks),
          index_(block.channel.ring.index),
          rank_(block.comm.rank),
          root_(static_cast<int>(work.root)),
          order_(view(block.channel.ring.userRanks, static_cast<size_t>(block.comm.nRanks), "ranks of a ring")),
          input_(static_cast<const char*>(work.sendbuff)),
          output_(static_cast<char*>(work.recvbuff)),
          bytes_(reduction.elementBytes()) {
        auto copy = work;
        ncclCollCbdPart(&copy, static_cast<uint32_t>(block.channelId), NCCL_PROTO_SIMPLE, static_cast<int>(bytes_),
                        &part_.total, &part_.offset, &part_.count, &part_.chunk);
    }

    std::vector<Chunk> chunks(ncclFunc_t collective) {
        if (collective == ncclFuncAllReduce) {
            allReduce();
            return std::move(chunks_);
        }
        for (size_t done = 0; done < part_.count; done += part_.chunk) {
            size_t offset = part_.offset + done, count = std::min(part_.chunk, part_.count - done);
            switch (collective) {
                case ncclFuncAllGather: allGather(offset, count); break;
                case ncclFuncReduceScatter: reduceScatter(offset, count); break;
                case ncclFuncReduce: reduce(offset, count); break;
                case ncclFuncBroadcast: broadcast(offset, count); break;
                default: refuse("collective", "not emulated");
            }
        }
        return std::move(chunks_);
    }

private:
    const char* input(size_t offset) const { return input_ + offset * bytes_; }
    char* output(size_t offset) const { return output_ + offset * bytes_; }

    void add(const char* own, char* keep, bool receive, bool send, size_t count, bool last = false) {
        chunks_.push_back({own, keep, receive, send, last, count});
    }

    void allReduce() {
        auto ranks = static_cast<size_t>(ranks_), index = static_cast<size_t>(index_);
        size_t each = part_.chunk;
        for (size_t done = 0; done < part_.count; done += ranks * part_.chunk) {
            size_t rest = part_.count - done;
            if (rest < ranks * part_.chunk) {
                size_t unit = 16 / bytes_;
                each = ((rest + ranks - 1) / ranks + unit - 1) / unit * unit;
            }
            auto offset = [&](size_t chunk) { return part_.offset + done + chunk % ranks * each; };
            auto count = [&](size_t chunk) {
                size_t before = chunk % ranks * each;
                return before < rest ? std::min(each, rest - before) : 0;
            };
            size_t chunk = index + ranks - 1;
            add(input(offset(chunk)), nullptr, false, true, count(chunk));
            for (size_t j = 2; j < ranks; ++j) {
                chunk = index + ranks - j;
                add(input(offset(chunk)), nullptr, true, true, count(chunk));
            }
            chunk = index;
            add(input(offset(chunk)), output(offset(chunk)), true, true, count(chunk), true);
            for (size_t j = 1; j + 1 < ranks; ++j) {
                chunk = index + ranks - j;
                add(nullptr, output(offset(chunk)), true, true, count(chunk));
            }
            chunk = index + 1;
            add(nullptr, output(offset(chunk)), true, false, count(chunk));
        }
    }

    void allGather(size_t offset, size_t count) {
        auto block = [&](int i) { return output(offset + static_cast<size_t>(order_[i]) * part_.total); };
        char* mine = block(0);
        bool inPlace = input(offset) == mine;
        add(input(offset), inPlace ? nullptr : mine, false, true, count);
        for (int j = 1; j + 1 < ranks_; ++j) add(nullptr, block(ranks_ - j), true, true, count);
        add(nullptr, block(1), true, false, count);
    }

    void reduceScatter(size_t offset, size_t count) {
        auto block = [&](int i) { return input(offset + static_cast<size_t>(order_[i]) * part_.total); };
        add(block(ranks_ - 1), nullptr, false, true, count);
        for (int j = 2; j < ranks_; ++j) add(block(ranks_ - j), nullptr, true, true, count);
        add(block(0), output(offset), true, false, count, true);
    }

    void reduce(size_t offset, size_t count) {
        if (order_[ranks_ - 1] == root_) {
            add(input(offset), nullptr, false, true, count);
        } else if (rank_ == root_) {
            add(input(offset), output(offset), true, false, count, true);
        } else {
            add(input(offset), nullptr, true, true, count);
        }
    }

    void broadcast(size_t offset, size_t count) {
        if (rank_ == root_) {
            add(input(offset), input(offset) == output(offset) ? nullptr : output(offset), false, true, count);
        } else {
            add(nullptr, output(offset), true, order_[1] != root_, count);
        }
    }

    const int ranks_;
    const int index_;
    const int rank_;
    const int root_;
    const int* const order_;
    const char* const input_;
    char* const output_;
    const size_t bytes_;
    Part part_;
    std::vector<Chunk> chunks_;
};

Slices slicesOf(ncclFunc_t collective) {
    switch (collective) {
        case ncclFuncAllReduce: return {ALLREDUCE_CHUNKSTEPS / ALLREDUCE_SLICESTEPS, ALLREDUCE_SLICESTEPS};
        case ncclFuncAllGather: return {ALLGATHER_CHUNKSTEPS / ALLGATHER_SLICESTEPS, ALLGATHER_SLICESTEPS};
        case ncclFuncReduceScatter:
            return {REDUCESCATTER_CHUNKSTEPS / REDUCESCATTER_SLICESTEPS, REDUCESCATTER_SLICESTEPS};
        case ncclFuncReduce: return {REDUCE_CHUNKSTEPS / REDUCE_SLICESTEPS, REDUCE_SLICESTEPS};
        default: return {BROADCAST_CHUNKSTEPS / BROADCAST_SLICESTEPS, BROADCAST_SLICESTEPS};
    }
}

size_t stepBytes(const Block& block) {
    return static_cast<size_t>(block.comm.buffSizes[NCCL_PROTO_SIMPLE]) / NCCL_STEPS;
}

/** A scalar may be in device memory, where it is read when the kernel runs. */
uint64_t argument(const ncclDevWorkColl& work, ncclDataType_t type) {
    if (!work.redOpArgIsPtr) return work.redOpArg;
    uint64_t value = 0;
    size_t bytes = bytesOf(type);
    __builtin_memcpy(&value, view(reinterpret_cast<const char*>(work.redOpArg), bytes, "scalar of a reduction"), bytes);
    return value;
}

std::unique_ptr<Transfer> onRing(const Block& block, Slices slices, const Reduction& reduction,
                                 std::vector<Chunk> chunks) {
    const ncclRing& ring = block.channel.ring;
    return std::make_unique<Transfer>(block.receive(ring.prev, 0), block.send(ring.next, 0), slices, stepBytes(block),
                                      reduction, std::move(chunks));
}

}  // namespace

std::unique_ptr<Transfer> collective(const Block& block, const Function& function, const ncclDevWorkColl& work) {
    if (work.regUsed || work.netRegUsed) refuse("registered buffers", "set NCCL_LOCAL_REGISTER=0, NCCL_GRAPH_REGISTER=0");
    Reduction reduction =
        function.reduces ? Reduction(function.op, function.type, argument(work, function.type)) : Reduction();
    return onRing(block, slicesOf(function.collective), reduction,
                  Ring(block, work, reduction).chunks(function.collective));
}

std::unique_ptr<Transfer> broadcasts(const Block& block, std::vector<ncclDevWorkBcast> works) {
    std::vector<Chunk> chunks;
    bool more = true;
    while (more) {
        more = false;
        for (ncclDevWorkBcast& work : works) {
            size_t count = std::min(work.bytes, static_cast<size_t>(work.chunkSize));
            if (count == 0) continue;
            char* to = static_cast<char*>(work.recvbuff) + work.bytes_done;
            if (work.ringDepth == 0) {
                const char* from = static_cast<const char*>(work.sendbuff) + work.bytes_done;
                chunks.push_back({from, from == to ? nullptr : to, false, true, false, count});
            } else {
                chunks.push_back({nullptr, to, true, work.ringDepth != block.comm.nRanks - 1, false, count});
            }
            work.bytes -= count;
            work.bytes_done += count;
            more = more || work.bytes > 0;
        }
    }
    return onRing(block, {1, 1}, Reduction(), std::move(chunks));
}

}  // namespace emulator
