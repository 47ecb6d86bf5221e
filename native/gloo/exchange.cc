#include "exchange.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace jccl {

namespace {

// After these a thread that sleeps looks whether a peer is in another operation.
constexpr Milliseconds kFirstPause(50);
constexpr Milliseconds kLongestPause(1000);

// In the place of a tag, of which there are 32 bits: the sender has failed, and the number of bytes is the rank it has lost.
constexpr uint64_t kLost = ~uint64_t{0};

}  // namespace

Exchange::Exchange(Mesh& mesh, int size) : mesh_(mesh), connections_(size) { waiting_.reserve(size); }

Exchange::~Exchange() {
  for (const Connection& connection : connections_) {
    if (connection.link.fd >= 0) {
      ::close(connection.link.fd);
    }
  }
}

void Exchange::adopt(int peer, Link link) {
  const int fd = link.fd;
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  std::lock_guard<std::mutex> lock(failureMutex_);
  connections_[peer].link = std::move(link);
  if (failure_ != nullptr) {
    ::shutdown(fd, SHUT_RDWR);
  }
}

void Exchange::with(int peer, const void* out, size_t outBytes, void* in, size_t inBytes) {
  std::lock_guard<std::mutex> lock(running_);  // a thread that waits for a message may look here for another operation
  connections_[peer].out = {
      true, {0, outBytes, inBytes}, static_cast<char*>(const_cast<void*>(out)), outBytes, 0};
  connections_[peer].in = {true, {}, static_cast<char*>(in), inBytes, 0};
}

void Exchange::run(uint32_t tag, Clock::time_point deadline) {
  std::lock_guard<std::mutex> lock(running_);
  tag_ = tag;
  const int size = static_cast<int>(connections_.size());
  for (int peer = 0; peer < size; peer++) {
    write(peer);
  }
  for (int peer = 0; peer < size; peer++) {
    read(peer);
  }
  while (!finished()) {
    wait(deadline);
    for (int peer = 0; peer < size; peer++) {
      if ((waiting_[peer].revents & POLLRDHUP) != 0) {
        ended(peer, "Connection closed by peer");
      }
      if ((waiting_[peer].revents & ~POLLIN) != 0) {
        write(peer);
      }
      if ((waiting_[peer].revents & ~POLLOUT) != 0) {
        read(peer);
      }
    }
  }
}

void Exchange::wait(Clock::time_point deadline) {
  waiting_.clear();
  for (const Connection& connection : connections_) {
    // Who ends a connection before all is sent has given up, which a full one would not tell: nothing can be written then.
    const int events = (connection.out.open ? POLLOUT | POLLRDHUP : 0) | (connection.in.open ? POLLIN : 0);
    // A negative descriptor is passed over, so that places are ranks.
    waiting_.push_back({events != 0 ? connection.link.fd : -1, static_cast<short>(events), 0});
  }
  const auto begin = Clock::now();
  Milliseconds pause(0);  // while it is busy
  for (auto now = begin;; now = Clock::now()) {
    if (now >= deadline) {
      throw Failure(kTimeout, timedOut());
    }
    if (now - begin >= busyPolling_) {
      pause = std::min(std::max(pause * 2, kFirstPause), kLongestPause);
    }
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - now) + Milliseconds(1);
    const int ready = ::poll(waiting_.data(), waiting_.size(), static_cast<int>(std::min(pause, left).count()));
    if (ready > 0) {
      return;
    }
    if (ready == 0 && pause < kFirstPause) {
      std::this_thread::yield();  // to another rank of this host, or the compiler of this one's virtual machine
    }
    if (ready < 0 && errno != EINTR) {
      throw Failure(kInternal, std::string("cannot wait for a message: ") + std::strerror(errno));
    }
    if (ready == 0 && pause >= kFirstPause) {
      const std::string other = mesh_.otherAnnouncement();
      if (!other.empty()) {
        throw Failure(kMismatch, other);
      }
    }
  }
}

bool Exchange::finished() const {
  return std::none_of(connections_.begin(), connections_.end(), [](const Connection& connection) {
    return connection.out.open || connection.in.open;
  });
}

// What is left to move of a message, as the system's calls want it.
class Exchange::Rest final {
 public:
  explicit Rest(Message& message) {
    const size_t ofHeader = std::min(message.moved, sizeof(Header));
    const size_t ofMemory = message.moved - ofHeader;
    pieces_[0] = {reinterpret_cast<char*>(&message.header) + ofHeader, sizeof(Header) - ofHeader};
    pieces_[1] = {message.memory + ofMemory, message.bytes - ofMemory};
  }
  ssize_t sendTo(const Link& link) const { return link.send(pieces_, 2); }
  ssize_t receiveFrom(const Link& link) const { return link.receive(pieces_, 2); }

 private:
  iovec pieces_[2];
};

void Exchange::write(int peer) {
  Message& message = connections_[peer].out;
  message.header.tag = tag_;
  while (message.open) {
    const ssize_t sent = Rest(message).sendTo(connections_[peer].link);
    if (sent < 0 && errno == EAGAIN) {
      return;
    }
    if (sent < 0 && errno != EINTR) {
      ended(peer, std::strerror(errno));
    }
    message.moved += std::max<ssize_t>(0, sent);
    message.open = message.moved < sizeof(Header) + message.bytes;
  }
}

void Exchange::read(int peer) {
  Message& message = connections_[peer].in;
  while (message.open) {
    const ssize_t got = Rest(message).receiveFrom(connections_[peer].link);
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    if (got == 0 || (got < 0 && errno != EINTR)) {
      lost(peer, got == 0 ? "Connection closed by peer" : std::strerror(errno));
    }
    message.moved += std::max<ssize_t>(0, got);
    if (message.moved >= sizeof(Header)) {
      check(peer);
    }
    message.open = message.moved < sizeof(Header) + message.bytes;
  }
}

// What the peer said last may tell why, behind all that was expected of it.
void Exchange::ended(int peer, const std::string& why) {
  read(peer);
  Message& in = connections_[peer].in;
  if (!in.open) {
    in = {true, {}, nullptr, 0, 0};
    read(peer);
  }
  lost(peer, why);
}

void Exchange::check(int peer) {
  const Header& theirs = connections_[peer].in.header;
  const size_t in = connections_[peer].in.bytes;
  const size_t out = connections_[peer].out.bytes;
  if (theirs.tag == tag_ && theirs.bytes == in && theirs.expected == out) {
    return;
  }
  if (theirs.tag == kLost) {
    told(peer, theirs.bytes);
  }
  if (theirs.tag != tag_) {
    throw Failure(kMismatch, inOtherOperation(peer));
  }
  const std::string name = "rank " + std::to_string(peer);
  if (theirs.bytes != in) {
    throw Failure(
        kMismatch, name + " sends " + std::to_string(theirs.bytes) + " bytes where this rank expects " +
                       std::to_string(in) + ", so the numbers of elements differ");
  }
  throw Failure(
      kMismatch, name + " expects " + std::to_string(theirs.expected) + " bytes where this rank sends " +
                     std::to_string(out) + ", so the numbers of elements differ");
}

void Exchange::told(int peer, uint64_t rank) {
  const std::string by = "rank " + std::to_string(peer);
  if (rank >= connections_.size() || static_cast<int>(rank) == mesh_.rank) {
    lost(peer, "it lost this rank and has given up");
  }
  lost(static_cast<int>(rank), by + " lost it and has given up");
}

void Exchange::lost(int peer, const std::string& why) {
  {
    std::lock_guard<std::mutex> lock(failureMutex_);
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
  }
  throw Failure(kPeerLost, "lost rank " + std::to_string(peer) + ": " + why, peer);
}

std::string Exchange::timedOut() const {
  std::string text;
  for (size_t peer = 0; peer < connections_.size(); peer++) {
    if (connections_[peer].out.open || connections_[peer].in.open) {
      text += (text.empty() ? "timed out waiting for rank " : ", rank ") + std::to_string(peer);
    }
  }
  return text;
}

void Exchange::fail(const std::exception_ptr& cause, int lost) noexcept {
  std::lock_guard<std::mutex> lock(failureMutex_);
  if (failure_ != nullptr) {
    return;
  }
  failure_ = cause;
  // In the middle of a message it would be taken for data.
  const std::unique_lock<std::mutex> idle(running_, std::try_to_lock);
  Header farewell{kLost, static_cast<uint64_t>(lost), 0};
  const iovec piece{&farewell, sizeof(farewell)};
  for (const Connection& connection : connections_) {
    const Link& link = connection.link;
    if (link.fd < 0) {
      continue;
    }
    if (lost >= 0 && idle && !(connection.out.open && connection.out.moved > 0) && !link.isSending()) {
      link.send(&piece, 1);
    }
    ::shutdown(link.fd, SHUT_RDWR);
  }
}

std::string Exchange::otherOperation(uint32_t tag) {
  std::unique_lock<std::mutex> lock(running_, std::try_to_lock);
  for (size_t peer = 0; lock && peer < connections_.size(); peer++) {
    Header header;
    // An operation that has begun here looks at the header by itself.
    const Message& message = connections_[peer].in;
    const Link& link = connections_[peer].link;
    if (link.fd < 0 || (message.open && message.moved > 0)) {
      continue;
    }
    const ssize_t got = link.peek(&header, sizeof(header));
    if (got == sizeof(header) && header.tag != tag && header.tag != kLost && (header.tag & 0xff) == (tag & 0xff)) {
      return inOtherOperation(static_cast<int>(peer));
    }
  }
  return "";
}

}  // namespace jccl
