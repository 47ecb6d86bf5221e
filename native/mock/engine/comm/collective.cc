// What each collective does to the data, in terms of exchanges and reductions. Each is told by two lists: the parts
// that this rank has for the others, and the places for what the others have for it.
#include <algorithm>
#include <cstring>

#include "communicator.h"
#include "exchange.h"
#include "reduce.h"
#include "vendor.h"

namespace mock {

namespace {

/** Elements at an offset; none when the count is 0. */
struct Part {
    size_t offset = 0;
    size_t count = 0;
};
using Parts = std::vector<Part>;

Parts toParts(const std::vector<size_t>& counts, const std::vector<size_t>& offsets) {
    Parts parts;
    for (size_t i = 0; i < counts.size(); ++i) parts.push_back({offsets[i], counts[i]});
    return parts;
}

/** One after the other. */
Parts even(size_t ranks, size_t count) {
    Parts parts;
    for (size_t i = 0; i < ranks; ++i) parts.push_back({i * count, count});
    return parts;
}

/** The same for each rank. */
Parts same(size_t ranks, size_t count) { return Parts(ranks, Part{0, count}); }

Parts only(size_t ranks, int rank, Part part) {
    Parts parts(ranks);
    parts[static_cast<size_t>(rank)] = part;
    return parts;
}

size_t extent(const Parts& parts) {
    size_t end = 0;
    for (const Part& part : parts) {
        if (part.count > 0) end = std::max(end, part.offset + part.count);
    }
    return end;
}

}  // namespace

class Collective {
public:
    Collective(Communicator& communicator, const Operation& operation, uint64_t sequence)
        : communicator_(communicator),
          operation_(operation),
          sequence_(sequence),
          width_(sizeOf(operation.type)),
          ranks_(static_cast<size_t>(communicator.size)),
          mine_(static_cast<size_t>(communicator.rank)) {}

    void run();

private:
    bool isRoot() const { return communicator_.rank == operation_.root; }
    Parts outgoing() const;
    Parts incoming() const;
    Label label(size_t elements) const;
    void scaleInput(size_t elements);
    void move(const Parts& out, const Parts& in);
    /** Collects what each rank has for this one, and reduces it in the order of ranks. */
    bool reduceInto(char* result, const Parts& out);
    void allReduce();

    Communicator& communicator_;
    const Operation& operation_;
    const uint64_t sequence_;
    const size_t width_;
    const size_t ranks_;
    const size_t mine_;
    char* send_ = nullptr;
    char* receive_ = nullptr;
    std::vector<char> scaled_;
};

/** What goes to each rank. */
Parts Collective::outgoing() const {
    size_t count = operation_.count;
    const Layout* layout = operation_.layout.get();
    switch (operation_.kind) {
        case Kind::ReduceScatterV:
        case Kind::AllToAllV: return toParts(layout->sendCounts, layout->sendOffsets);
        case Kind::AllGatherV: return same(ranks_, layout->receiveCounts[mine_]);
        case Kind::ReduceScatter:
        case Kind::AllToAll: return even(ranks_, count);
        case Kind::AllGather: return same(ranks_, count);
        case Kind::Broadcast: return isRoot() ? same(ranks_, count) : Parts(ranks_);
        case Kind::Scatter: return isRoot() ? even(ranks_, count) : Parts(ranks_);
        default: return only(ranks_, operation_.root, {0, count});
    }
}

/** Where what comes from each rank goes; reductions have one result instead. */
Parts Collective::incoming() const {
    size_t count = operation_.count;
    const Layout* layout = operation_.layout.get();
    switch (operation_.kind) {
        case Kind::AllGatherV:
        case Kind::AllToAllV: return toParts(layout->receiveCounts, layout->receiveOffsets);
        case Kind::ReduceScatterV: return only(ranks_, communicator_.rank, {0, layout->sendCounts[mine_]});
        case Kind::AllGather:
        case Kind::AllToAll: return even(ranks_, count);
        case Kind::Gather: return isRoot() ? even(ranks_, count) : Parts(ranks_);
        case Kind::Broadcast:
        case Kind::Scatter: return only(ranks_, operation_.root, {0, count});
        case Kind::Reduce: return isRoot() ? same(ranks_, count) : Parts(ranks_);
        default: return same(ranks_, count);
    }
}

Label Collective::label(size_t elements) const {
    const Reduction& reduction = operation_.reduction;
    int op = isReducing(operation_.kind) ? static_cast<int>(reduction.op) + (reduction.scaled ? 100 : 0) : 0;
    return {sequence_,
            elements * width_,
            operation_.count,
            static_cast<int32_t>(operation_.kind),
            static_cast<int32_t>(operation_.type),
            op,
            operation_.root};
}

void Collective::scaleInput(size_t elements) {
    const Reduction& reduction = operation_.reduction;
    if (!isReducing(operation_.kind) || !reduction.scaled) return;
    const void* scalar = reduction.scalar;
    if (reduction.scalarAddress != nullptr) {
        scalar = vendorRuntime().view(reduction.scalarAddress, width_, "scalar of a custom reduction");
    }
    scaled_.assign(send_, send_ + elements * width_);
    scale(operation_.type, scaled_.data(), elements, scalar);
    send_ = scaled_.data();
}

void Collective::run() {
    Parts out = outgoing();
    Parts in = incoming();
    const char* name = nameOf(operation_.kind);
    size_t sent = operation_.kind == Kind::AllReduce ? operation_.count : extent(out);
    if (sent > 0) send_ = vendorRuntime().view(operation_.send, sent * width_, name);
    if (extent(in) > 0) receive_ = vendorRuntime().view(operation_.receive, extent(in) * width_, name);
    scaleInput(sent);
    if (operation_.kind == Kind::AllReduce) {
        allReduce();
    } else if (!isReducing(operation_.kind) || (operation_.kind == Kind::Reduce && !isRoot())) {
        move(out, in);
    } else {
        reduceInto(receive_, out);
    }
}

void Collective::move(const Parts& out, const Parts& in) {
    if (out[mine_].count > 0 && in[mine_].count > 0) {
        std::memmove(receive_ + in[mine_].offset * width_, send_ + out[mine_].offset * width_,
                     out[mine_].count * width_);
    }
    Exchange exchange(communicator_);
    for (size_t peer = 0; peer < ranks_; ++peer) {
        if (peer == mine_) continue;
        // A count of 0 in an uneven collective is a message all the same, by which ranks that disagree are found.
        bool uneven = operation_.layout != nullptr;
        int rank = static_cast<int>(peer);
        if (uneven || out[peer].count > 0) {
            exchange.send(rank, send_ + out[peer].offset * width_, label(out[peer].count));
        }
        if (uneven || in[peer].count > 0) {
            exchange.receive(rank, receive_ + in[peer].offset * width_, label(in[peer].count));
        }
    }
    exchange.run();
}

bool Collective::reduceInto(char* result, const Parts& out) {
    size_t elements = out[mine_].count;
    size_t bytes = elements * width_;
    std::vector<char> scratch(bytes * ranks_);
    std::vector<const void*> inputs;
    Exchange exchange(communicator_);
    for (size_t peer = 0; peer < ranks_; ++peer) {
        char* room = peer == mine_ ? send_ + out[mine_].offset * width_ : scratch.data() + peer * bytes;
        inputs.push_back(room);
        if (peer == mine_) continue;
        if (operation_.kind != Kind::Reduce) {
            exchange.send(static_cast<int>(peer), send_ + out[peer].offset * width_, label(out[peer].count));
        }
        exchange.receive(static_cast<int>(peer), room, label(elements));
    }
    if (!exchange.run()) return false;
    reduce(operation_.type, operation_.reduction.op, result, inputs, elements);
    return true;
}

/** Each rank reduces a share, which then goes to all. */
void Collective::allReduce() {
    if (ranks_ == 1) {
        std::memmove(receive_, send_, operation_.count * width_);
        return;
    }
    Parts shares;
    for (size_t i = 0; i < ranks_; ++i) {
        size_t start = operation_.count * i / ranks_;
        shares.push_back({start, operation_.count * (i + 1) / ranks_ - start});
    }
    char* result = receive_ + shares[mine_].offset * width_;
    if (!reduceInto(result, shares)) return;
    Exchange exchange(communicator_);
    for (size_t peer = 0; peer < ranks_; ++peer) {
        if (peer == mine_) continue;
        exchange.send(static_cast<int>(peer), result, label(shares[mine_].count));
        exchange.receive(static_cast<int>(peer), receive_ + shares[peer].offset * width_, label(shares[peer].count));
    }
    exchange.run();
}

void Communicator::execute(const Operation& operation) { Collective(*this, operation, ++executed_).run(); }

void Communicator::executePointToPoint(const std::vector<const Operation*>& operations) {
    Exchange exchange(*this, settings.rendezvous);
    std::vector<std::pair<const char*, size_t>> toSelf;
    std::vector<char*> fromSelf;
    for (const Operation* operation : operations) {
        bool sending = operation->kind == Kind::Send;
        size_t bytes = operation->count * sizeOf(operation->type);
        const void* address = sending ? operation->send : operation->receive;
        char* data = vendorRuntime().view(address, bytes, nameOf(operation->kind));
        Label label{0, bytes, operation->count, static_cast<int32_t>(Kind::Send), 0, 0, 0};
        if (operation->root == rank) {
            if (sending) {
                toSelf.emplace_back(data, bytes);
            } else {
                fromSelf.push_back(data);
            }
        } else if (sending) {
            exchange.send(operation->root, data, label);
        } else {
            exchange.receive(operation->root, data, label);
        }
    }
    for (size_t i = 0; i < toSelf.size(); ++i) std::memmove(fromSelf[i], toSelf[i].first, toSelf[i].second);
    exchange.run();
}

}  // namespace mock
