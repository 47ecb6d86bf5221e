#include "exchange.h"

#include <chrono>
#include <cstring>
#include <sched.h>

namespace mock {

namespace {

// Where others want the processor, a single yield can take the whole of their time slice.
constexpr auto yieldingAtMost = std::chrono::microseconds(200);

// Where operations are delayed, nothing is measured and a peer seldom comes within the yields.
int yieldsBeforeSleep() {
    static const int yields = setting("MOCK_DELAY_US", 0) == 0 ? 50 : 0;
    return yields;
}

}  // namespace

bool Exchange::run() {
    Segment& segment = *communicator_.segment_;
    Seat& own = segment.seat(communicator_.rank);
    using Clock = std::chrono::steady_clock;
    Clock::time_point lastMove = Clock::now();
    int idle = 0;
    for (;;) {
        uint32_t seen = own.bell.load();
        if (communicator_.isStopped()) return false;
        bool moved = !disagrees_ && (progress(sends_, true) | progress(receives_, false));
        if (!disagrees_ && sends_.empty() && receives_.empty()) return true;
        if (moved) {
            idle = 0;
            lastMove = Clock::now();
        } else if (++idle < yieldsBeforeSleep() && Clock::now() - lastMove < yieldingAtMost) {
            sched_yield();
        } else {
            segment.sleep(communicator_.rank, seen);
        }
    }
}

// Messages between two ranks keep their order: only the first unfinished one for a peer may move.
bool Exchange::progress(std::vector<Transfer>& transfers, bool sending) {
    bool moved = false;
    std::vector<bool> blocked(static_cast<size_t>(communicator_.size));
    for (auto transfer = transfers.begin(); transfer != transfers.end() && !disagrees_;) {
        auto peer = static_cast<size_t>(transfer->peer);
        if (blocked[peer]) {
            ++transfer;
            continue;
        }
        if (advance(*transfer, sending)) {
            moved = true;
            communicator_.segment_->ringBell(transfer->peer);
        }
        if (transfer->done == transfer->total() && (!sending || !rendezvous_ || isTaken(*transfer))) {
            transfer = transfers.erase(transfer);
        } else {
            blocked[peer] = true;
            ++transfer;
        }
    }
    return moved;
}

bool Exchange::advance(Transfer& transfer, bool sending) {
    int rank = communicator_.rank;
    Ring& ring =
        sending ? communicator_.segment_->ring(rank, transfer.peer) : communicator_.segment_->ring(transfer.peer, rank);
    size_t before = transfer.done;
    auto move = [&](char* bytes, size_t count) {
        transfer.done += sending ? ring.write(bytes, count) : ring.read(bytes, count);
    };
    if (transfer.done < sizeof(Label)) {
        char* label = reinterpret_cast<char*>(sending ? &transfer.label : &transfer.seen);
        move(label + transfer.done, sizeof(Label) - transfer.done);
        if (!sending && transfer.done == sizeof(Label)) compare(transfer);
    }
    if (transfer.done >= sizeof(Label) && !disagrees_) {
        size_t at = transfer.done - sizeof(Label);
        move(transfer.data + at, transfer.label.bytes - at);
    }
    if (sending && transfer.done != before) transfer.end = ring.written.load(std::memory_order_relaxed);
    return transfer.done != before;
}

bool Exchange::isTaken(const Transfer& transfer) {
    Ring& ring = communicator_.segment_->ring(communicator_.rank, transfer.peer);
    return ring.consumed.load(std::memory_order_acquire) >= transfer.end;
}

void Exchange::compare(const Transfer& transfer) {
    const Label& a = transfer.label;
    const Label& b = transfer.seen;
    bool same = a.kind == b.kind && a.bytes == b.bytes &&
                (a.kind >= static_cast<int>(Kind::Send) || (a.sequence == b.sequence && a.count == b.count &&
                                                            a.type == b.type && a.op == b.op && a.root == b.root));
    // As with the real libraries, ranks that disagree are stuck.
    disagrees_ = !same;
}

}  // namespace mock
