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

// The time for a TLS handshake and a number. A rank of the job needs some round trips.
constexpr Milliseconds kIntroduction(10000);

// Callers of this age make room for others.
constexpr Milliseconds kOldIfCrowded(1000);

// Without a free descriptor: the pause before the next attempt, and when it is an error although no caller holds one.
constexpr Milliseconds kPause(100);
constexpr Milliseconds kShortage(2000);

// Callers that have not said their number: some for each peer, and room for strangers.
constexpr size_t kCallersOfPeer = 4;
constexpr size_t kStrangers = 64;

bool isShortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

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

void await(int fd, short events, Clock::time_point deadline, const char* otherwise) {
  pollfd waiting{fd, events, 0};
  for (int ready = 0; ready <= 0;) {
    if (Clock::now() >= deadline) {
      throw Failure(kTimeout, otherwise);
    }
    ready = ::poll(&waiting, 1, pollMillis(deadline));
    if (ready < 0 && errno != EINTR) {
      throw Failure(kInternal, "cannot wait for a connection: " + reasonOf(errno));
    }
  }
}

std::string nameOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  char host[NI_MAXHOST];
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      ::getnameinfo(
          reinterpret_cast<sockaddr*>(&address), length, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "an unknown address";
  }
  return host;
}

}  // namespace

Link dial(const Contact& contact, const TlsContext* tls, Clock::time_point deadline) {
  const sockaddr_storage& to = contact.where.address;
  Socket socket(::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) {
    throw Failure(kInternal, "cannot open a connection: " + reasonOf(errno));
  }
  int error = 0;
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), lengthOf(to)) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    await(socket.get(), POLLOUT, deadline, "no connection");
    socklen_t length = sizeof(error);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
      error = errno;
    }
  }
  Link link{socket.get(), nullptr};
  if (error == 0 && tls != nullptr) {
    link.tls = std::make_unique<TlsChannel>(*tls, link.fd, false);
    for (short events = link.tls->handshake(); events != 0; events = link.tls->handshake()) {
      await(link.fd, events, deadline, "no answer to the TLS handshake; use TLS on all ranks or on none");
    }
  }
  int64_t number = contact.number;
  const iovec said{&number, sizeof(number)};
  if (error == 0 && link.send(&said, 1) != static_cast<ssize_t>(sizeof(number))) {
    error = errno;
  }
  if (error != 0) {
    throw Failure(kPeerLost, "no connection: " + reasonOf(error));
  }
  socket.release();
  return link;
}

Listener::Listener(const std::string& address, const TlsContext* tls, int64_t firstNumber, int size)
    : tls_(tls),
      firstNumber_(firstNumber),
      numbers_(2 * static_cast<int64_t>(size)),
      mostCallers_(kCallersOfPeer * static_cast<size_t>(size) + kStrangers) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    throw Failure(kInvalid, address + " is not a numeric address: " + ::gai_strerror(error));
  }
  std::memcpy(&address_, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  Socket socket(::socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length = sizeof(address_);
  if (socket.get() < 0 ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address_), lengthOf(address_)) != 0 ||
      ::listen(socket.get(), kBacklog) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address_), &length) != 0) {
    throw Failure(kInternal, "cannot listen on " + address + ": " + reasonOf(errno));
  }
  fd_ = socket.release();
}

Listener::~Listener() {
  ::close(fd_);
  for (const Caller& caller : callers_) {
    ::close(caller.link.fd);
  }
  for (const auto& each : known_) {
    ::close(each.second.fd);
  }
}

Link Listener::accept(int64_t number, Clock::time_point deadline) {
  if (!await(number, deadline)) {
    throw Failure(kTimeout, "no connection" + rejected_);
  }
  const auto found = known_.find(number);
  Link link = std::move(found->second);
  known_.erase(found);
  return link;
}

bool Listener::await(int64_t number, Clock::time_point deadline) {
  const auto away = Clock::now() - listened_;
  for (Caller& caller : callers_) {
    caller.since += away;
  }
  while (known_.count(number) == 0) {
    listened_ = Clock::now();
    if (listened_ >= deadline) {
      return false;
    }
    dropIdle();
    // The system ignores a negative descriptor.
    const bool accepts = callers_.size() < mostCallers_ && listened_ >= acceptAgain_;
    std::vector<pollfd> waiting{{accepts ? fd_ : -1, POLLIN, 0}};
    for (const Caller& caller : callers_) {
      waiting.push_back({caller.link.fd, caller.events, 0});
    }
    const auto pause = accepts ? deadline : std::min(deadline, listened_ + kPause);
    if (::poll(waiting.data(), waiting.size(), pollMillis(pause)) < 0 && errno != EINTR) {
      throw Failure(kInternal, "cannot wait for a connection: " + reasonOf(errno));
    }
    if (accepts) {
      acceptSome();
    }
    callers_.erase(
        std::remove_if(callers_.begin(), callers_.end(), [this](Caller& caller) { return listenTo(caller); }),
        callers_.end());
  }
  listened_ = Clock::now();
  return true;
}

void Listener::dropIdle() {
  const bool crowded = callers_.size() >= mostCallers_ || shortSince_ != Clock::time_point();
  const auto oldest = listened_ - (crowded ? kOldIfCrowded : kIntroduction);
  const auto isIdle = [this, oldest](const Caller& caller) {
    if (caller.since >= oldest) {
      return false;
    }
    rejected_ = ", and a caller at " + nameOf(caller.link.fd) + " did not say which rank it is";
    ::close(caller.link.fd);
    return true;
  };
  callers_.erase(std::remove_if(callers_.begin(), callers_.end(), isIdle), callers_.end());
}

void Listener::acceptSome() {
  while (callers_.size() < mostCallers_) {
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) {
      continue;
    }
    const auto now = Clock::now();
    if (fd < 0 && isShortage(errno)) {
      shortSince_ = shortSince_ == Clock::time_point() ? now : shortSince_;
      // Callers free theirs soon. Without callers, this process itself has too many.
      if (callers_.empty() && now - shortSince_ > kShortage) {
        throw Failure(kInternal, "cannot accept a connection: " + reasonOf(errno));
      }
      acceptAgain_ = now + kPause;
      return;
    }
    if (fd < 0 && errno != EAGAIN) {
      throw Failure(kInternal, "cannot accept a connection: " + reasonOf(errno));
    }
    shortSince_ = acceptAgain_ = Clock::time_point();
    if (fd < 0) {
      return;
    }
    callers_.push_back({{fd, nullptr}, POLLIN, 0, 0, now});
    if (tls_ != nullptr) {
      callers_.back().link.tls = std::make_unique<TlsChannel>(*tls_, fd, true);
    }
  }
}

bool Listener::listenTo(Caller& caller) {
  if (caller.link.tls != nullptr) {
    try {
      const short events = caller.link.tls->handshake();
      caller.events = events == 0 ? POLLIN : events;
      if (events != 0) {
        return false;
      }
    } catch (const Failure& failure) {
      // A rank of this job, or a stranger. A rank fails, and the others learn it from its absence.
      rejected_ = ", and a caller at " + nameOf(caller.link.fd) + " failed: " + failure.what();
      ::close(caller.link.fd);
      return true;
    }
  }
  auto* word = reinterpret_cast<char*>(&caller.word);
  const iovec rest{word + caller.read, sizeof(caller.word) - caller.read};
  const ssize_t got = caller.link.receive(&rest, 1);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  caller.read += std::max<ssize_t>(0, got);
  if (got > 0 && caller.read < sizeof(caller.word)) {
    return false;
  }
  const int fd = caller.link.fd;
  const bool isExpected = caller.word >= firstNumber_ && caller.word - firstNumber_ < numbers_;
  if (got <= 0 || !isExpected || !known_.emplace(caller.word, std::move(caller.link)).second) {
    ::close(fd);
  }
  return true;
}

}  // namespace jccl
