#include "exchange.h"

#include <string>

#include "types.h"

namespace jccl {

namespace {

// A thread that brings forward what others wait for must not be kept by one long collective.
constexpr int kStepsAtOnce = 8;

}  // namespace

void Exchange::begin(const Algorithm& algorithm, int tag, std::vector<char> memory) {
  algorithm_ = algorithm;
  memory_ = std::move(memory);
  tag_ = tag;
  begun_ = 0;
  ended_ = 0;
  const auto needed = static_cast<size_t>(algorithm.window() * algorithm.scratchBytes());
  if (memory_.size() < needed) {
    memory_.resize(needed);
  }
}

bool Exchange::isIdle() const {
  for (const Slot& slot : slots_) {
    if (slot.receive != MPI_REQUEST_NULL || slot.send != MPI_REQUEST_NULL) {
      return false;
    }
  }
  return true;
}

void Exchange::forget() {
  algorithm_ = Algorithm();
  begun_ = 0;
  ended_ = 0;
}

char* Exchange::scratchOf(int64_t number) {
  return memory_.data() + number % algorithm_.window() * algorithm_.scratchBytes();
}

void Exchange::start(int64_t number, MPI_Comm comm) {
  Slot& slot = slotOf(number);
  slot.step = algorithm_.step(number);
  const Step& step = slot.step;
  const auto size = static_cast<int>(algorithm_.elementSize());
  // The other rank waits for the message, and not for the receive.
  if (step.to >= 0) {
    check(
        MPI_Isend(step.sent, static_cast<int>(step.sentElements) * size, MPI_BYTE, step.to, tag_, comm, &slot.send),
        "MPI_Isend");
  }
  if (step.from >= 0) {
    void* to = step.mine != nullptr ? scratchOf(number) : step.target;
    check(
        MPI_Irecv(to, static_cast<int>(step.elements) * size, MPI_BYTE, step.from, tag_, comm, &slot.receive), "MPI_Irecv");
  }
}

bool Exchange::isDone(Slot& slot) {
  int done = 1;
  if (slot.receive != MPI_REQUEST_NULL) {
    check(MPI_Test(&slot.receive, &done, &slot.status), "MPI_Test");
  }
  if (done && slot.send != MPI_REQUEST_NULL) {
    check(MPI_Test(&slot.send, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
  return done != 0;
}

void Exchange::end(int64_t number) {
  Slot& slot = slotOf(number);
  const Step& step = slot.step;
  if (step.from < 0) {
    return;
  }
  MPI_Count bytes = 0;
  check(MPI_Get_elements_x(&slot.status, MPI_BYTE, &bytes), "MPI_Get_elements_x");
  if (bytes != step.elements * algorithm_.elementSize()) {
    throw Failure(
        kMismatch, "rank " + std::to_string(step.from) + " takes part with " + std::to_string(bytes) + " bytes, not " +
                       std::to_string(step.elements * algorithm_.elementSize()));
  }
  if (step.mine != nullptr && step.elements > 0) {
    const char* theirs = scratchOf(number);
    const auto count = static_cast<size_t>(step.elements);
    algorithm_.combine()(step.target, step.mineFirst ? step.mine : theirs, step.mineFirst ? theirs : step.mine, count);
  }
}

bool Exchange::advanceOnce(MPI_Comm comm) {
  for (int i = 0; i < kStepsAtOnce && ended_ < algorithm_.steps(); i++) {
    while (begun_ < algorithm_.steps() && begun_ - ended_ < algorithm_.window()) {
      start(begun_, comm);
      begun_++;
    }
    if (!isDone(slotOf(ended_))) {
      return false;
    }
    end(ended_);
    ended_++;
  }
  return ended_ == algorithm_.steps();
}

}  // namespace jccl
