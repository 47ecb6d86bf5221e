#include "listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

namespace jccl {

namespace {

// All peers may connect at once; the system takes its own limit (somaxconn) where that is less.
constexpr int kBacklog = 4096;

std::string reasonOf(int error) {
  // In English whatever the language of the process is.
  return error == EMFILE ? "Too many open files: raise this process's limit (ulimit -n)" : std::strerror(error);
}

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

}  // namespace

int dial(const Contact& contact, Clock::time_point deadline) {
  const sockaddr_storage& to = contact.where.address;
  Socket socket(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) {
    throw Failure(kInternal, "can not open a connection: " + reasonOf(errno));
  }
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), lengthOf(to)) != 0) {
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

}  // namespace jccl
