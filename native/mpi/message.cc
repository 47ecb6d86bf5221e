#include "message.h"

namespace jccl {

MessagePool::~MessagePool() {
  for (Message* message : idle_) {
    delete message;
  }
}

Message* MessagePool::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) {
    idle_.push_back(new Message());
  }
  Message* message = idle_.back();
  idle_.pop_back();
  taken_++;
  return message;
}

void MessagePool::giveBack(Message* message) {
  if (message->ownsType) {
    MPI_Type_free(&message->ownType);  // what it was for is done, and stays so where this fails
    message->ownsType = false;
  }
  message->expected = -1;
  message->failure.reset();
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(message);
  taken_--;
}

}  // namespace jccl
