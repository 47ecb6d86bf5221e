// Moves messages between ranks: everything added is sent and received at the same time.
#pragma once
#include <vector>

#include "communicator.h"

namespace mock {

/** Travels before every message, so that ranks which disagree are found out. */
struct Label {
    uint64_t sequence;
    uint64_t bytes;
    uint64_t count;
    int32_t kind;
    int32_t type;
    int32_t op;
    int32_t root;
};

class Exchange {
public:
    /** With a rendezvous, a send is over when its receiver has taken all of it. */
    explicit Exchange(Communicator& communicator, bool rendezvous = false)
        : communicator_(communicator), rendezvous_(rendezvous) {}

    void send(int peer, const char* data, const Label& label) {
        sends_.push_back({peer, const_cast<char*>(data), label, {}, 0, 0});
    }
    void receive(int peer, char* data, const Label& label) { receives_.push_back({peer, data, label, {}, 0, 0}); }

    /** False when the communicator was stopped before all had moved. */
    bool run();

private:
    struct Transfer {
        int peer;
        char* data;
        Label label;
        Label seen;
        /** Counts the label's bytes too. */
        size_t done;
        /** Of a send that is written: where the ring then stood. */
        uint64_t end;

        size_t total() const { return sizeof(Label) + label.bytes; }
    };
    bool progress(std::vector<Transfer>& transfers, bool sending);
    bool advance(Transfer& transfer, bool sending);
    void compare(const Transfer& transfer);
    bool isTaken(const Transfer& transfer);

    Communicator& communicator_;
    std::vector<Transfer> sends_;
    std::vector<Transfer> receives_;
    bool rendezvous_;
    bool disagrees_ = false;
};

}  // namespace mock
