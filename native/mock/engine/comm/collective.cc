// What each collective does to the data, in terms of exchanges and reductions.
#include <algorithm>
#include <cstring>

#include "communicator.h"
#include "exchange.h"
#include "reduce.h"
#include "vendor.h"

namespace mock {

class Collective {
public:
    Collective(Communicator& communicator, const Operation& operation, uint64_t sequence);
    void run();

private:
    size_t ranks() const { return static_cast<size_t>(communicator_.size); }
    size_t sendElements() const;
    size_t receiveElements() const;
    bool isRoot() const { return communicator_.rank == operation_.root; }
    char* part(char* data, size_t index) const { return data + index * operation_.count * width_; }

    /** With a layout: how far the parts reach, and where one starts. */
    static size_t extent(const std::vector<size_t>& counts, const std::vector<size_t>& offsets);
    char* sendPart(size_t index) const { return send_ + operation_.layout->sendOffsets[index] * width_; }
    char* receivePart(size_t index) const { return receive_ + operation_.layout->receiveOffsets[index] * width_; }

    Label label(size_t elements) const;
    void place(char* to, const char* from, size_t elements) const;
    bool prepareInput();
    /** Every rank's part of this rank's elements, in rank order; the own part is not moved. */
    bool collect(char* own, size_t elements, const std::vector<std::pair<char*, size_t>>& outgoing,
                 std::vector<const void*>* inputs);

    void allReduce();
    void reduceToRoot();
    void reduceScatter();
    void reduceScatterV();
    void allGather();
    void allGatherV();
    void broadcast();
    void allToAll();
    void allToAllV();
    void gather();
    void scatter();

    Communicator& communicator_;
    const Operation& operation_;
    const uint64_t sequence_;
    const size_t width_;
    const int rank_;
    const char* name_;
    char* send_ = nullptr;
    char* receive_ = nullptr;
    std::vector<char> scaled_;
    std::vector<char> scratch_;
};

Collective::Collective(Communicator& communicator, const Operation& operation, uint64_t sequence)
    : communicator_(communicator),
      operation_(operation),
      sequence_(sequence),
      width_(sizeOf(operation.type)),
      rank_(communicator.rank),
      name_(nameOf(operation.kind)) {}

size_t Collective::extent(const std::vector<size_t>& counts, const std::vector<size_t>& offsets) {
    size_t end = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) end = std::max(end, offsets[i] + counts[i]);
    }
    return end;
}

size_t Collective::sendElements() const {
    if (operation_.layout != nullptr) return extent(operation_.layout->sendCounts, operation_.layout->sendOffsets);
    switch (operation_.kind) {
        case Kind::ReduceScatter:
        case Kind::AllToAll: return operation_.count * ranks();
        case Kind::Scatter: return isRoot() ? operation_.count * ranks() : 0;
        case Kind::Broadcast: return isRoot() ? operation_.count : 0;
        default: return operation_.count;
    }
}

size_t Collective::receiveElements() const {
    if (operation_.layout != nullptr) {
        return extent(operation_.layout->receiveCounts, operation_.layout->receiveOffsets);
    }
    switch (operation_.kind) {
        case Kind::AllGather:
        case Kind::AllToAll: return operation_.count * ranks();
        case Kind::Gather: return isRoot() ? operation_.count * ranks() : 0;
        case Kind::Reduce: return isRoot() ? operation_.count : 0;
        default: return operation_.count;
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

void Collective::place(char* to, const char* from, size_t elements) const {
    if (to != from) std::memmove(to, from, elements * width_);
}

bool Collective::prepareInput() {
    const Reduction& reduction = operation_.reduction;
    if (!isReducing(operation_.kind) || !reduction.scaled) return true;
    const void* scalar = reduction.scalar;
    if (reduction.scalarAddress != nullptr) {
        scalar = vendorRuntime().view(reduction.scalarAddress, width_, "scalar of a custom reduction");
        if (scalar == nullptr) return false;
    }
    scaled_.assign(send_, send_ + sendElements() * width_);
    scale(operation_.type, scaled_.data(), sendElements(), scalar);
    send_ = scaled_.data();
    return true;
}

void Collective::run() {
    RuntimeLink& runtime = vendorRuntime();
    if (sendElements() > 0) {
        send_ = runtime.view(operation_.send, sendElements() * width_, name_);
        if (send_ == nullptr) return;
    }
    if (receiveElements() > 0) {
        receive_ = runtime.view(operation_.receive, receiveElements() * width_, name_);
        if (receive_ == nullptr) return;
    }
    if (!prepareInput()) return;
    switch (operation_.kind) {
        case Kind::AllReduce: return allReduce();
        case Kind::Reduce: return reduceToRoot();
        case Kind::ReduceScatter: return reduceScatter();
        case Kind::ReduceScatterV: return reduceScatterV();
        case Kind::AllGather: return allGather();
        case Kind::AllGatherV: return allGatherV();
        case Kind::Broadcast: return broadcast();
        case Kind::AllToAll: return allToAll();
        case Kind::AllToAllV: return allToAllV();
        case Kind::Gather: return gather();
        default: return scatter();
    }
}

bool Collective::collect(char* own, size_t elements, const std::vector<std::pair<char*, size_t>>& outgoing,
                         std::vector<const void*>* inputs) {
    size_t bytes = elements * width_;
    scratch_.resize(bytes * ranks());
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        auto index = static_cast<size_t>(peer);
        char* room = peer == rank_ ? own : scratch_.data() + index * bytes;
        inputs->push_back(room);
        if (peer == rank_) continue;
        if (!outgoing.empty()) exchange.send(peer, outgoing[index].first, label(outgoing[index].second));
        exchange.receive(peer, room, label(elements));
    }
    return exchange.run();
}

void Collective::allReduce() {
    if (communicator_.size == 1) return place(receive_, send_, operation_.count);
    auto start = [&](size_t index) { return operation_.count * index / ranks(); };
    auto length = [&](size_t index) { return start(index + 1) - start(index); };
    auto mine = static_cast<size_t>(rank_);
    std::vector<std::pair<char*, size_t>> outgoing;
    for (size_t i = 0; i < ranks(); ++i) outgoing.emplace_back(send_ + start(i) * width_, length(i));
    std::vector<const void*> inputs;
    if (!collect(send_ + start(mine) * width_, length(mine), outgoing, &inputs)) return;
    char* result = receive_ + start(mine) * width_;
    reduce(operation_.type, operation_.reduction.op, result, inputs, length(mine));
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        auto index = static_cast<size_t>(peer);
        if (peer == rank_) continue;
        exchange.send(peer, result, label(length(mine)));
        exchange.receive(peer, receive_ + start(index) * width_, label(length(index)));
    }
    exchange.run();
}

void Collective::reduceToRoot() {
    if (!isRoot()) {
        Exchange exchange(communicator_);
        exchange.send(operation_.root, send_, label(operation_.count));
        exchange.run();
        return;
    }
    std::vector<const void*> inputs;
    if (collect(send_, operation_.count, {}, &inputs)) {
        reduce(operation_.type, operation_.reduction.op, receive_, inputs, operation_.count);
    }
}

void Collective::reduceScatter() {
    std::vector<std::pair<char*, size_t>> outgoing;
    for (size_t i = 0; i < ranks(); ++i) outgoing.emplace_back(part(send_, i), operation_.count);
    std::vector<const void*> inputs;
    if (collect(part(send_, static_cast<size_t>(rank_)), operation_.count, outgoing, &inputs)) {
        reduce(operation_.type, operation_.reduction.op, receive_, inputs, operation_.count);
    }
}

void Collective::reduceScatterV() {
    const Layout& layout = *operation_.layout;
    size_t mine = layout.sendCounts[static_cast<size_t>(rank_)];
    std::vector<std::pair<char*, size_t>> outgoing;
    for (size_t i = 0; i < ranks(); ++i) outgoing.emplace_back(sendPart(i), layout.sendCounts[i]);
    std::vector<const void*> inputs;
    if (collect(sendPart(static_cast<size_t>(rank_)), mine, outgoing, &inputs)) {
        reduce(operation_.type, operation_.reduction.op, receive_, inputs, mine);
    }
}

void Collective::allGatherV() {
    const Layout& layout = *operation_.layout;
    auto mine = static_cast<size_t>(rank_);
    place(receivePart(mine), send_, layout.receiveCounts[mine]);
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        auto index = static_cast<size_t>(peer);
        if (peer == rank_) continue;
        exchange.send(peer, receivePart(mine), label(layout.receiveCounts[mine]));
        exchange.receive(peer, receivePart(index), label(layout.receiveCounts[index]));
    }
    exchange.run();
}

void Collective::allToAllV() {
    const Layout& layout = *operation_.layout;
    auto mine = static_cast<size_t>(rank_);
    place(receivePart(mine), sendPart(mine), layout.sendCounts[mine]);
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        auto index = static_cast<size_t>(peer);
        if (peer == rank_) continue;
        exchange.send(peer, sendPart(index), label(layout.sendCounts[index]));
        exchange.receive(peer, receivePart(index), label(layout.receiveCounts[index]));
    }
    exchange.run();
}

void Collective::allGather() {
    place(part(receive_, static_cast<size_t>(rank_)), send_, operation_.count);
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        if (peer == rank_) continue;
        exchange.send(peer, part(receive_, static_cast<size_t>(rank_)), label(operation_.count));
        exchange.receive(peer, part(receive_, static_cast<size_t>(peer)), label(operation_.count));
    }
    exchange.run();
}

void Collective::broadcast() {
    Exchange exchange(communicator_);
    if (isRoot()) {
        for (int peer = 0; peer < communicator_.size; ++peer) {
            if (peer != rank_) exchange.send(peer, send_, label(operation_.count));
        }
    } else {
        exchange.receive(operation_.root, receive_, label(operation_.count));
    }
    if (exchange.run() && isRoot()) place(receive_, send_, operation_.count);
}

void Collective::allToAll() {
    auto mine = static_cast<size_t>(rank_);
    place(part(receive_, mine), part(send_, mine), operation_.count);
    Exchange exchange(communicator_);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        if (peer == rank_) continue;
        exchange.send(peer, part(send_, static_cast<size_t>(peer)), label(operation_.count));
        exchange.receive(peer, part(receive_, static_cast<size_t>(peer)), label(operation_.count));
    }
    exchange.run();
}

void Collective::gather() {
    Exchange exchange(communicator_);
    if (!isRoot()) {
        exchange.send(operation_.root, send_, label(operation_.count));
        exchange.run();
        return;
    }
    place(part(receive_, static_cast<size_t>(rank_)), send_, operation_.count);
    for (int peer = 0; peer < communicator_.size; ++peer) {
        if (peer != rank_) exchange.receive(peer, part(receive_, static_cast<size_t>(peer)), label(operation_.count));
    }
    exchange.run();
}

void Collective::scatter() {
    Exchange exchange(communicator_);
    if (!isRoot()) {
        exchange.receive(operation_.root, receive_, label(operation_.count));
        exchange.run();
        return;
    }
    for (int peer = 0; peer < communicator_.size; ++peer) {
        if (peer != rank_) exchange.send(peer, part(send_, static_cast<size_t>(peer)), label(operation_.count));
    }
    if (exchange.run()) place(receive_, part(send_, static_cast<size_t>(rank_)), operation_.count);
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
        if (data == nullptr) return;
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
