#include "kernel.h"

#include <chrono>
#include <cstring>
#include <sched.h>
#include <thread>

#include "works.h"

namespace emulator {

ncclConnInfo* Block::send(int rank, int connection) const {
    return at(channel.peers + rank, "peers of a channel")->send + connection;
}

ncclConnInfo* Block::receive(int rank, int connection) const {
    return at(channel.peers + rank, "peers of a channel")->recv + connection;
}

namespace {

using namespace std::chrono_literals;

/** The works of one batch, which a block does before it goes to the next. */
struct Batch {
    ncclDevWorkType type;
    int functionId;
    std::vector<const char*> works;
    /** Of the next batch, or -1. */
    int next;
};

/** What a kernel was launched with. */
class Launch {
public:
    Launch(const void* arguments, size_t bytes)
        : arguments_(*static_cast<const ncclDevKernelArgs*>(arguments)),
          first_(static_cast<const char*>(arguments)),
          bytes_(bytes) {}

    const ncclDevKernelArgs& arguments() const { return arguments_; }

    /** With those that extend it. */
    Batch batch(int index) const {
        Batch result{};
        for (;;) {
            ncclDevWorkBatch part = entry(index);
            result.type = static_cast<ncclDevWorkType>(part.workType);
            result.functionId = part.funcId;
            size_t size = ncclDevWorkSize(result.type);
            for (size_t i = 0; i < 64; ++i) {
                if ((part.offsetBitset >> i & 1) != 0) result.works.push_back(work(part.offsetBase + i * size, size));
            }
            result.next = part.nextJump == 0 ? -1 : index + part.nextJump;
            if (!part.nextExtends) return result;
            index = result.next;
        }
    }

private:
    ncclDevWorkBatch entry(int index) const {
        ncclDevWorkBatch batch;
        size_t offset = sizeof(ncclDevKernelArgs) + static_cast<size_t>(index) * sizeof batch;
        if (offset + sizeof batch > bytes_) refuse("batch", "outside of the kernel's arguments");
        std::memcpy(&batch, first_ + offset, sizeof batch);
        return batch;
    }

    const char* work(size_t offset, size_t size) const {
        if (arguments_.workStorageType == ncclDevWorkStorageTypeArgs) {
            if (offset + size > bytes_) refuse("work", "outside of the kernel's arguments");
            return first_ + offset;
        }
        auto buffer = static_cast<const char*>(arguments_.workBuf);
        return view(buffer + (offset & arguments_.workMask), size, "work of a kernel");
    }

    const ncclDevKernelArgs& arguments_;
    const char* const first_;
    const size_t bytes_;
};

template <class Work>
Work copyOf(const char* bytes) {
    Work work;
    std::memcpy(static_cast<void*>(&work), bytes, sizeof work);
    return work;
}

/** One block's way through its batches. */
class BlockRun {
public:
    BlockRun(const Launch& launch, const ncclKernelComm& comm, const ncclDevChannel& channel, int channelId, int index)
        : launch_(launch), block_{comm, channel, channelId}, next_(index) {}

    /** Does what can be done without waiting. Returns whether that was anything. */
    bool advance() {
        bool moved = false;
        while (!isDone()) {
            if (transfers_.empty() && work_ == batch_.works.size()) {
                batch_ = launch_.batch(next_);
                next_ = batch_.next;
                work_ = 0;
            }
            if (transfers_.empty()) begin();
            if (!advanceTransfers(moved)) return moved;
            moved = true;
        }
        return moved;
    }

    bool isDone() const { return next_ < 0 && work_ == batch_.works.size() && transfers_.empty(); }

private:
    /** Collectives come one after the other, all messages of a batch at once. */
    void begin() {
        switch (batch_.type) {
            case ncclDevWorkTypeColl:
                transfers_.push_back(collective(block_, function(batch_.functionId),
                                                copyOf<ncclDevWorkColl>(batch_.works[work_++])));
                break;
            case ncclDevWorkTypeP2p:
                for (; work_ < batch_.works.size(); ++work_) {
                    messages(block_, copyOf<ncclDevWorkP2p>(batch_.works[work_]), transfers_);
                }
                break;
            case ncclDevWorkTypeBcast: {
                function(batch_.functionId);
                std::vector<ncclDevWorkBcast> works;
                for (const char* work : batch_.works) works.push_back(copyOf<ncclDevWorkBcast>(work));
                work_ = batch_.works.size();
                transfers_.push_back(broadcasts(block_, std::move(works)));
                break;
            }
            default: refuse("work", "of a kind that is not emulated");
        }
    }

    /** Whether all are done. */
    bool advanceTransfers(bool& moved) {
        for (size_t i = 0; i < transfers_.size();) {
            moved |= transfers_[i]->advance();
            if (transfers_[i]->isDone()) {
                transfers_[i] = std::move(transfers_.back());
                transfers_.pop_back();
            } else {
                ++i;
            }
        }
        return transfers_.empty();
    }

    const Launch& launch_;
    const Block block_;
    Batch batch_{};
    size_t work_ = 0;
    int next_;
    Transfers transfers_;
};

/** Gives others the processor: at first at once, later for longer. */
class Pause {
public:
    void reset() { idle_ = 0; }

    void wait() {
        if (++idle_ < 200) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(idle_ < 2000 ? 50us : 500us);
        }
    }

private:
    int idle_ = 0;
};

}  // namespace

void runKernel(const void* bytes, size_t count) {
    Launch launch(bytes, count);
    const ncclDevKernelArgs& arguments = launch.arguments();
    const ncclKernelComm& comm = at(arguments.comm, "communicator of a kernel");
    auto channels = reinterpret_cast<ncclKernelCommAndChannels*>(arguments.comm)->channels;
    const volatile uint32_t& abortFlag = at(comm.abortFlag, "abort flag");
    std::vector<std::unique_ptr<BlockRun>> blocks;
    for (int channel = 0; channel < MAXCHANNELS; ++channel) {
        if ((arguments.channelMask >> channel & 1) == 0) continue;
        blocks.push_back(std::make_unique<BlockRun>(launch, comm, at(channels + channel, "channel of a kernel"), channel,
                                                    static_cast<int>(blocks.size())));
    }
    Pause pause;
    while (!blocks.empty() && abortFlag == 0) {
        bool moved = false;
        for (size_t i = 0; i < blocks.size();) {
            moved |= blocks[i]->advance();
            if (blocks[i]->isDone()) {
                blocks[i] = std::move(blocks.back());
                blocks.pop_back();
            } else {
                ++i;
            }
        }
        moved ? pause.reset() : pause.wait();
    }
}

}  // namespace emulator
