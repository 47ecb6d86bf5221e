#include "communicator.h"

#include <cstring>

#include "exchange.h"
#include "reduce.h"

namespace jccl {

Communicator::Communicator(int rank, int size, int64_t timeoutMillis)
    : rank_(rank), size_(size), timeout_(timeoutMillis) {}

Communicator::~Communicator() {
  if (mesh_ != nullptr && !requests_.empty()) {
    mesh_->fail(std::make_exception_ptr(Failure(kAborted, "the communicator was closed")));
  }
}

void Communicator::listen(const std::string& address, int64_t firstNumber) {
  auto device = deviceAt(address);
  listener_ = std::make_unique<Listener>(address, tls_.get(), firstNumber, size_);
  firstNumber_ = firstNumber;
  mesh_ = makeMesh(device);
  context_ = std::make_shared<Context>(std::move(device), mesh_, timeout_);
}

std::vector<char> Communicator::addressFor(int peer) const {
  Contact contact;
  std::memset(&contact, 0, sizeof(contact));  // it is published as it lies in memory
  contact.where = {listener_->address(), -1};
  contact.number = firstNumber_ + peer;
  const auto* bytes = reinterpret_cast<const char*>(&contact);
  return std::vector<char>(bytes, bytes + sizeof(contact));
}

namespace {

Contact contactOf(int peer, const std::vector<char>& address) {
  Contact contact;
  if (address.size() != sizeof(contact)) {
    throw Failure(kInvalid, "the address of rank " + std::to_string(peer) + " is not a gloo address");
  }
  std::memcpy(&contact, address.data(), sizeof(contact));
  return contact;
}

bool isSameHost(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) {
    return false;
  }
  if (a.ss_family == AF_INET6) {
    const auto& one = reinterpret_cast<const sockaddr_in6&>(a).sin6_addr;
    return std::memcmp(&one, &reinterpret_cast<const sockaddr_in6&>(b).sin6_addr, sizeof(one)) == 0;
  }
  const auto& one = reinterpret_cast<const sockaddr_in&>(a).sin_addr;
  return std::memcmp(&one, &reinterpret_cast<const sockaddr_in&>(b).sin_addr, sizeof(one)) == 0;
}

}  // namespace

bool Communicator::awaitCaller(int peer, const std::vector<char>& address, int64_t timeoutMillis) {
  const auto deadline = Clock::now() + Milliseconds(timeoutMillis);
  return mesh_->dials(listener_->address(), contactOf(peer, address).where.address) ||
         (listener_->await(firstNumber_ + peer, deadline) &&
          (!exchanges() || listener_->await(firstNumber_ + size_ + peer, deadline)));
}

void Communicator::connect(int peer, const std::vector<char>& address, int64_t timeoutMillis) {
  const Contact contact = contactOf(peer, address);
  isOnOneHost_ = isOnOneHost_ && isSameHost(listener_->address(), contact.where.address);
  const auto deadline = Clock::now() + Milliseconds(timeoutMillis);
  // The numbers of second connections come after those of all ranks.
  const auto connection = [&](int64_t offset) {
    Contact their = contact;
    their.number += offset;
    return mesh_->dials(listener_->address(), contact.where.address)
               ? dial(their, tls_.get(), deadline)
               : listener_->accept(firstNumber_ + offset + peer, deadline);
  };
  try {
    mesh_->adopt(peer, connection(0));
    if (exchanges()) {
      mesh_->exchange().adopt(peer, connection(size_));
    }
  } catch (const Failure& failure) {
    throw Failure(failure.status, "rank " + std::to_string(peer) + ": " + failure.what());
  }
  if (++connected_ == size_ - 1) {
    listener_.reset();
  }
}

void Communicator::enter() {
  if (aborted_) {
    throw Failure(kAborted, "the communicator was aborted");
  }
  if (status_ != kOk) {
    throw Failure(static_cast<Status>(status_.load()), "the communicator failed before: " + message());
  }
}

int Communicator::fail(const std::exception_ptr& cause) noexcept {
  Status status = kInternal;
  int lostRank = -1;
  std::string text = plainMessage(cause);
  try {
    std::rethrow_exception(cause);
  } catch (const Failure& failure) {
    status = failure.status;
    lostRank = failure.lost;
  } catch (const ::gloo::IoException&) {
    status = kPeerLost;
  } catch (...) {
    // Anything else is a failure inside gloo.
  }
  if (status != kInvalid && status_ == kOk && mesh_ != nullptr) {
    const std::string other = mesh_->otherOperation();
    const bool named = lostRank >= 0;
    std::string lost;
    if (status == kPeerLost && !named && other.empty()) {
      lostRank = mesh_->lostBy(cause);
      if (lostRank >= 0) {
        lost = "rank " + std::to_string(lostRank) + ": " + text;
      } else {
        lostRank = mesh_->lostRank();
      }
    }
    // Transfers that were given up may never be completed, and would block the streams they belong to.
    mesh_->fail(cause, lostRank);
    if (lost.empty()) {
      lost = mesh_->lostPeer();
    }
    if (aborted_) {
      status = kAborted;
      text = "the communicator was aborted";
    } else if (status == kPeerLost && !other.empty()) {
      status = kMismatch;
      text = other;
    } else if (status == kPeerLost && !named && !lost.empty()) {
      text = "lost " + lost;
    }
  }
  std::lock_guard<std::mutex> lock(failureMutex_);
  if (status_ == kOk) {
    message_ = text;
    if (status != kInvalid) {
      status_ = status;
    }
  }
  return status;
}

std::string Communicator::message() {
  std::lock_guard<std::mutex> lock(failureMutex_);
  return message_;
}

bool Communicator::lost(int peer) { return mesh_ != nullptr && mesh_->lost(peer); }

void Communicator::abort() {
  if (!aborted_.exchange(true) && mesh_ != nullptr) {
    mesh_->fail(std::make_exception_ptr(Failure(kAborted, "the communicator was aborted")));
  }
}

void* Communicator::scratch(size_t bytes) {
  if (scratch_.size() < bytes) {
    scratch_ = std::vector<char>();
    scratch_.resize(bytes);
  }
  return scratch_.data();
}

void Communicator::checkPeer(int peer) const {
  if (size_ == 1 || peer == rank_ || peer >= size_) {
    throw Failure(
        kInvalid, "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " has no peer " +
                      std::to_string(peer));
  }
}

int64_t Communicator::send(const void* data, size_t count, int type, int peer, int tag) {
  checkPeer(peer);
  auto transfer = mesh_->transfer(data, count * elementSizeOf(type), kNoDeadline);
  transfer->setPeer(peer);
  transfer->send(peer, messageSlot(count, type, tag), 0, count * elementSizeOf(type));
  return keep(std::move(transfer), false);
}

int64_t Communicator::recv(void* data, size_t count, int type, int peer, int tag) {
  checkPeer(peer);
  auto transfer = mesh_->transfer(data, count * elementSizeOf(type), kNoDeadline);
  const uint64_t slot = messageSlot(count, type, tag);
  if (peer >= 0) {
    transfer->setPeer(peer);
    transfer->recv(peer, slot, 0, count * elementSizeOf(type));
  } else {
    std::vector<int> peers;
    for (int i = 0; i < size_; i++) {
      if (i != rank_) {
        peers.push_back(i);
      }
    }
    transfer->recv(std::move(peers), slot, 0, count * elementSizeOf(type));
    mesh_->wakeReceiversIfAlone();
  }
  return keep(std::move(transfer), true);
}

int64_t Communicator::keep(std::unique_ptr<Transfer> transfer, bool receive) {
  std::lock_guard<std::mutex> lock(requestsMutex_);
  const int64_t id = nextRequest_++;
  requests_[id] = std::make_shared<Request>(Request{std::move(transfer), receive});
  return id;
}

std::shared_ptr<Communicator::Request> Communicator::find(int64_t request) {
  std::lock_guard<std::mutex> lock(requestsMutex_);
  const auto found = requests_.find(request);
  if (found == requests_.end()) {
    throw Failure(kInvalid, "request " + std::to_string(request) + " is unknown or was awaited before");
  }
  return found->second;
}

bool Communicator::test(int64_t id) {
  const auto request = find(id);
  return request->transfer->settled(request->receive);
}

int Communicator::await(int64_t id) {
  const auto request = find(id);
  {
    std::lock_guard<std::mutex> lock(requestsMutex_);
    requests_.erase(id);
  }
  int rank = -1;
  if (request->receive) {
    request->transfer->waitRecv(&rank, timeout_);
  } else {
    request->transfer->waitSend();
  }
  return rank;
}

}  // namespace jccl
