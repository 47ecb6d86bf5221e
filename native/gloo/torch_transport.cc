#include "torch_transport.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace jccl {

namespace {

const char* nameOf(uint64_t kind) {
  static const char* const names[] = {"a message",  "gather",    "all_gather", "reduce",    "all_reduce",
                                      "scatter",    "broadcast", "barrier",    "all_to_all"};
  return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "an unknown collective";
}

}  // namespace

Farewells& Farewells::ofProcess() {
  static auto& instance = *new Farewells();  // never destroyed: communicators may outlive static destruction
  return instance;
}

void Farewells::keep(int fd, Clock::time_point deadline) noexcept {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    return;  // no descriptor is left: the peer sees the end now
  }
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.reserve(kept_.size() + 1);
    if (!watched_) {
      std::thread(&Farewells::watch, this).detach();
      watched_ = true;
    }
    kept_.push_back({copy, deadline});
  } catch (const std::exception&) {
    ::close(copy);  // no memory or no thread: the peer sees the end now
  }
}

void Farewells::watch() {
  do {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  } while (reap());
}

bool Farewells::reap() {
  const auto now = Clock::now();
  std::lock_guard<std::mutex> lock(mutex_);
  kept_.erase(
      std::remove_if(
          kept_.begin(), kept_.end(),
          [&](const Kept& each) {
            pollfd state{each.fd, POLLIN, 0};
            const bool over = now >= each.deadline || ::poll(&state, 1, 0) > 0;
            if (over) {
              ::close(each.fd);
            }
            return over;
          }),
      kept_.end());
  watched_ = !kept_.empty();
  return watched_;
}

TorchPeer::TorchPeer(Mesh* mesh, tcp::Device* device, int rank, Milliseconds timeout)
    : Peer(mesh, device, rank, timeout), timeout_(timeout) {}

// Closed here, since the loop thread may call into this class until then.
TorchPeer::~TorchPeer() {
  std::lock_guard<std::mutex> lock(m_);
  if (state_ == CONNECTED && !heard_) {
    Farewells::ofProcess().keep(fd_, Clock::now() + timeout_);
  }
  if (state_ != CLOSED) {
    Peer::changeState(CLOSED);
  }
}

bool TorchPeer::read() {
  if (rx_.nread < sizeof(rx_.preamble)) {
    if (!readHeader()) {
      return false;
    }
    if (rx_.nread == sizeof(rx_.preamble)) {
      checkArrival();
      if (rx_.getOpcode() == tcp::Op::NOTIFY_RECV_READY) {
        expected_[rx_.preamble.slot].push_back(rx_.preamble.length);
      }
    }
  }
  return Peer::read();
}

// Reads what has arrived of a header. Whether nothing has; the base class tells the end of the connection and errors.
bool TorchPeer::readHeader() {
  while (rx_.nread < sizeof(rx_.preamble)) {
    auto* header = reinterpret_cast<char*>(&rx_.preamble);
    const ssize_t got = ::recv(fd_, header + rx_.nread, sizeof(rx_.preamble) - rx_.nread, 0);
    if (got < 0 && errno == EAGAIN) {
      return false;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return true;
    }
    rx_.nread += got;
    heard_ = true;
  }
  return true;
}

// A message larger than what was expected would end the process, a smaller one leave it with old data.
void TorchPeer::checkArrival() const {
  if (rx_.preamble.opcode != tcp::Op::SEND_UNBOUND_BUFFER) {
    return;
  }
  const auto found = localPendingRecv_.find(rx_.preamble.slot);
  if (found == localPendingRecv_.end() || found->second.empty()) {
    return;  // the base class refuses it
  }
  const size_t bytes = std::get<2>(found->second.front());
  if (rx_.preamble.length != bytes) {
    throw Failure(
        kMismatch, "rank " + std::to_string(rank_) + " sends " + std::to_string(rx_.preamble.length) +
                       " bytes where this rank expects " + std::to_string(bytes));
  }
}

// Called with the pair's lock by whoever writes. A PyTorch process that receives more than it expects ends.
bool TorchPeer::write(tcp::Op& op) {
  const auto found = expected_.find(op.preamble.slot);
  // Operations that are written use this member for nothing else.
  if (op.getOpcode() == tcp::Op::SEND_UNBOUND_BUFFER && op.nread == 0 && found != expected_.end()) {
    op.nread = 1;
    const size_t bytes = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) {
      expected_.erase(found);
    }
    if (bytes != op.nbytes) {
      const Failure mismatch(
          kMismatch, "rank " + std::to_string(rank_) + " expects " + std::to_string(bytes) +
                         " bytes where this rank sends " + std::to_string(op.nbytes));
      Transfer::fail(op.ubuf, std::make_exception_ptr(mismatch));
      throw mismatch;
    }
  }
  return Peer::write(op);
}

std::unique_ptr<::gloo::transport::Pair>& TorchMesh::createPair(int rank) {
  pairs_[rank].reset(new TorchPeer(this, device_.get(), rank, getTimeout()));
  return pairs_[rank];
}

// PyTorch's messages carry no more than position and kind of collective.
std::string TorchMesh::otherOperation() {
  const uint64_t mine = tag_;
  if (mine == kNoTag) {
    return "";
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& pending : pendingOperations_) {
    const uint64_t theirs = pending.slot >> 24;
    const bool collective = theirs >> 32 != 0;
    if (!collective || static_cast<uint32_t>(theirs) != static_cast<uint32_t>(mine) || theirs == mine) {
      continue;
    }
    const auto& ranks = pending.getSendList().empty() ? pending.getRecvList() : pending.getSendList();
    if (!ranks.empty()) {
      return "rank " + std::to_string(ranks.front()) + " issued " + nameOf(theirs >> 32) +
             " where this rank issued " + nameOf(mine >> 32);
    }
  }
  return "";
}

}  // namespace jccl
