#include "torch_transport.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace jccl {

namespace {

constexpr int kBacklog = 512;

std::string reasonOf(int error) { return std::strerror(error); }

// Until then a poll may sleep, in its unit.
int pollMillis(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()).count() + 1;
  return static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(left, 1000)));
}

socklen_t lengthOf(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

// Closes a socket unless it was handed on.
class Socket final {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

const char* nameOf(uint64_t kind) {
  static const char* const names[] = {"a message",  "gather",    "all_gather", "reduce",    "all_reduce",
                                      "scatter",    "broadcast", "barrier",    "all_to_all"};
  return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "an unknown collective";
}

}  // namespace

bool dials(const sockaddr_storage& mine, const sockaddr_storage& theirs) {
  if (mine.ss_family != theirs.ss_family) {
    throw Failure(kInvalid, "one rank listens on IPv4 and the other on IPv6; set GLOO_SOCKET_IFNAME alike");
  }
  int order;
  int ports;
  if (mine.ss_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(mine);
    const auto& b = reinterpret_cast<const sockaddr_in&>(theirs);
    order = std::memcmp(&a.sin_addr, &b.sin_addr, sizeof(a.sin_addr));
    ports = a.sin_port - b.sin_port;  // in network order, as gloo compares them
  } else {
    const auto& a = reinterpret_cast<const sockaddr_in6&>(mine);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(theirs);
    order = std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof(a.sin6_addr));
    ports = a.sin6_port - b.sin6_port;
  }
  return order != 0 ? order > 0 : ports > 0;
}

int dial(const Contact& contact, Clock::time_point deadline) {
  const sockaddr_storage& to = contact.where.address;
  Socket socket(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int error = 0;
  if (socket.get() < 0 || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), lengthOf(to)) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    pollfd waiting{socket.get(), POLLOUT, 0};
    for (int ready = 0; ready <= 0;) {
      if (Clock::now() >= deadline) {
        throw Failure(kTimeout, "no connection");
      }
      ready = ::poll(&waiting, 1, pollMillis(deadline));
      if (ready < 0 && errno != EINTR) {
        throw Failure(kInternal, "can not wait for a connection: " + reasonOf(errno));
      }
    }
    socklen_t length = sizeof(error);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
      error = errno;
    }
  }
  if (error == 0 && ::send(socket.get(), &contact.number, sizeof(contact.number), MSG_NOSIGNAL) !=
                        static_cast<ssize_t>(sizeof(contact.number))) {
    error = errno;
  }
  if (error != 0) {
    throw Failure(kPeerLost, "no connection: " + reasonOf(error));
  }
  return socket.release();
}

Listener::Listener(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    throw Failure(kInvalid, address + " is no numeric address: " + ::gai_strerror(error));
  }
  std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  Socket socket(::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length = sizeof(address_);
  if (socket.get() < 0 ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address_), lengthOf(address_)) != 0 ||
      ::listen(socket.get(), kBacklog) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address_), &length) != 0) {
    throw Failure(kInternal, "can not listen on " + address + ": " + reasonOf(errno));
  }
  fd_ = socket.release();
}

Listener::~Listener() {
  ::close(fd_);
  for (const Caller& caller : callers_) {
    ::close(caller.fd);
  }
  for (const auto& each : known_) {
    ::close(each.second);
  }
}

int Listener::accept(int64_t number, Clock::time_point deadline) {
  for (;;) {
    const auto found = known_.find(number);
    if (found != known_.end()) {
      const int fd = found->second;
      known_.erase(found);
      return fd;
    }
    if (Clock::now() >= deadline) {
      throw Failure(kTimeout, "no connection");
    }
    std::vector<pollfd> waiting{{fd_, POLLIN, 0}};
    for (const Caller& caller : callers_) {
      waiting.push_back({caller.fd, POLLIN, 0});
    }
    if (::poll(waiting.data(), waiting.size(), pollMillis(deadline)) < 0 && errno != EINTR) {
      throw Failure(kInternal, "can not wait for a connection: " + reasonOf(errno));
    }
    acceptAll();
    callers_.erase(
        std::remove_if(callers_.begin(), callers_.end(), [this](Caller& caller) { return listenTo(caller); }),
        callers_.end());
  }
}

void Listener::acceptAll() {
  for (;;) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) {
      continue;
    }
    if (fd < 0 && errno != EAGAIN) {
      throw Failure(kInternal, "can not accept a connection: " + reasonOf(errno));
    }
    if (fd < 0) {
      return;
    }
    callers_.push_back({fd, 0, 0});
  }
}

bool Listener::listenTo(Caller& caller) {
  auto* word = reinterpret_cast<char*>(&caller.word);
  const ssize_t got = ::recv(caller.fd, word + caller.read, sizeof(caller.word) - caller.read, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  caller.read += std::max<ssize_t>(0, got);
  if (got > 0 && caller.read < sizeof(caller.word)) {
    return false;
  }
  if (got <= 0 || !known_.emplace(caller.word, caller.fd).second) {
    ::close(caller.fd);
  }
  return true;
}

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
    kept_.push_back({copy, deadline});
  } catch (...) {
    ::close(copy);
  }
}

void Farewells::reap() noexcept {
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

// The base class opened a port of its own, which PyTorch's ranks know nothing of.
void TorchPeer::adopt(int fd) {
  std::lock_guard<std::mutex> lock(m_);
  device_->unregisterDescriptor(fd_, this);
  ::close(fd_);
  fd_ = fd;
  handleConnected();
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
      ::gloo::NonOwningPtr<tcp::UnboundBuffer> buffer(op.ubuf);
      if (buffer) {
        static_cast<Transfer*>(buffer.get())->fail(std::make_exception_ptr(mismatch));
      }
      throw mismatch;
    }
  }
  return Peer::write(op);
}

std::unique_ptr<::gloo::transport::Pair>& TorchMesh::createPair(int rank) {
  pairs_[rank].reset(new TorchPeer(this, device_.get(), rank, getTimeout()));
  return pairs_[rank];
}

void TorchMesh::adopt(int rank, int fd) { static_cast<TorchPeer*>(createPair(rank).get())->adopt(fd); }

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
