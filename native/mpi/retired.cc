#include "retired.h"

#include <cstdio>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "types.h"

namespace jccl {

namespace {

// Member 0 hears from all others and tells them whether to free it.
class Retired {
 public:
  Retired(std::vector<MPI_Comm> comms, const Traffic& traffic)
      : comms_(std::move(comms)), comm_(comms_.front()), mine_{traffic.collectives(), traffic.balance()} {
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    balance_ = mine_.balance;
    if (rank_ != 0) {
      send(&mine_, sizeof(mine_), 0);
    }
  }

  // Returns whether there is nothing left to do.
  bool advance() {
    if (!decided_) {
      rank_ == 0 ? hearMembers() : hearDecision();
    }
    // One at a time: the error of several at once says only that one of them failed.
    int sent = decided_ ? 1 : 0;
    for (size_t i = 0; sent && i < sends_.size(); i++) {
      check(MPI_Test(&sends_[i], &sent, MPI_STATUS_IGNORE), "MPI_Test");
    }
    for (MPI_Comm& comm : comms_) {
      if (sent && clean_) {
        check(MPI_Comm_free(&comm), "MPI_Comm_free");
      }
    }
    return sent != 0;
  }

 private:
  struct Report {
    uint64_t collectives;
    uint64_t balance;
  };

  void send(void* bytes, int length, int to) {
    sends_.push_back(MPI_REQUEST_NULL);
    check(MPI_Isend(bytes, length, MPI_BYTE, to, largestTag(), comm_, &sends_.back()), "MPI_Isend");
  }

  bool receive(void* bytes, int length, int from) {
    int there = 0;
    MPI_Status status;
    check(MPI_Iprobe(from, largestTag(), comm_, &there, &status), "MPI_Iprobe");
    if (there) {
      check(
          MPI_Recv(bytes, length, MPI_BYTE, status.MPI_SOURCE, largestTag(), comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    }
    return there != 0;
  }

  void hearMembers() {
    Report report;
    while (heard_ < size_ - 1 && receive(&report, sizeof(report), MPI_ANY_SOURCE)) {
      heard_++;
      balance_ += report.balance;
      clean_ &= report.collectives == mine_.collectives;
    }
    if (heard_ == size_ - 1) {
      clean_ &= balance_ == 0;
      decided_ = true;
      for (int member = 1; member < size_; member++) {
        send(&clean_, sizeof(clean_), member);
      }
    }
  }

  void hearDecision() { decided_ = receive(&clean_, sizeof(clean_), 0); }

  std::vector<MPI_Comm> comms_;
  const MPI_Comm comm_;
  Report mine_;
  int rank_;
  int size_;
  int heard_ = 0;
  uint64_t balance_ = 0;
  bool clean_ = true;
  bool decided_ = false;
  std::vector<MPI_Request> sends_;
};

struct Waiting {
  std::mutex mutex;
  std::vector<Retired*> all;
};

// Never destroyed, nor is what it holds: the library may still send from it when the process ends.
Waiting& waiting() {
  static auto& instance = *new Waiting();
  return instance;
}

uint64_t mixed(uint64_t from, uint64_t to, uint64_t count) {
  uint64_t hash = ((from << 32) ^ to) * 0x9e3779b97f4a7c15u + count;
  hash = (hash ^ (hash >> 31)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 29);
}

}  // namespace

uint64_t Traffic::splits(int rank, int size, const int64_t* in, const int64_t* out) {
  uint64_t change = 0;
  for (int peer = 0; peer < size; peer++) {
    const auto me = static_cast<uint64_t>(rank);
    const auto other = static_cast<uint64_t>(peer);
    change += mixed(me, other, static_cast<uint64_t>(in[peer])) - mixed(other, me, static_cast<uint64_t>(out[peer]));
  }
  balance_.fetch_add(change, std::memory_order_relaxed);
  return change;
}

void retire(std::vector<MPI_Comm> comms, const Traffic& traffic) {
  auto& known = waiting();
  {
    std::lock_guard<std::mutex> lock(known.mutex);
    known.all.push_back(new Retired(std::move(comms), traffic));
  }
  reapRetired();
}

bool reapRetired() {
  auto& known = waiting();
  std::lock_guard<std::mutex> lock(known.mutex);
  for (size_t i = 0; i < known.all.size();) {
    Retired* each = known.all[i];
    known.all[i] = known.all.back();
    known.all.pop_back();
    bool done = false;
    try {
      done = each->advance();
    } catch (const std::exception& failure) {
      // Forgotten, and so kept. Whoever is here forms or closes another group, which has nothing to do with it.
      std::fprintf(stderr, "jccl: the communicator of a closed group was not freed: %s\n", failure.what());
      continue;
    }
    if (done) {
      delete each;
    } else {
      known.all.push_back(each);
      std::swap(known.all[i], known.all.back());
      i++;
    }
  }
  return known.all.empty();
}

int largestTag() {
  static const int limit = [] {
    constexpr int kLeastOfStandard = 32767;
    int* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    return found ? *value : kLeastOfStandard;
  }();
  return limit;
}

}  // namespace jccl
