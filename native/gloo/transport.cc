#include "transport.h"

#include <map>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gloo/common/error.h>

#include "exchange.h"

namespace jccl {

namespace {

// The loop thread only moves bytes for callers that wait: as a batch thread it does not preempt them.
void prepareLoopThread() {
  thread_local bool prepared = false;
  if (!prepared) {
    prepared = true;
    sched_param parameters{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);
    pthread_setname_np(pthread_self(), "gloo-loop");
  }
}

// The time in which a thread that waits reads from a peer, if there is one to read from.
class Reading final {
 public:
  explicit Reading(Peer* peer) : peer_(peer != nullptr && peer->beginReading() ? peer : nullptr) {}
  ~Reading() {
    if (peer_ != nullptr) {
      peer_->endReading();
    }
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  bool begun() const { return peer_ != nullptr; }
  bool until(Clock::time_point time) const { return peer_->readUntil(time); }

 private:
  Peer* const peer_;
};

}  // namespace

std::string plainMessage(const std::exception_ptr& cause) {
  std::string text;
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    text = e.what();
  } catch (...) {
    text = "unknown exception";
  }
  const auto end = text.find("] ");
  return !text.empty() && text[0] == '[' && end != std::string::npos ? text.substr(end + 2) : text;
}

std::string inOtherOperation(int rank) {
  return "rank " + std::to_string(rank) +
         " issued another operation at this position: kind, count, data type, reduce op or root differ";
}

Transfer::Transfer(const std::shared_ptr<Mesh>& mesh, void* memory, size_t bytes, Clock::time_point deadline)
    : tcp::UnboundBuffer(mesh, memory, bytes), mesh_(*mesh), deadline_(deadline) {}

bool Transfer::waitRecv(int* rank, Milliseconds) {
  wait(recvCv_, recvCompletions_, "receive");
  if (rank != nullptr) {
    *rank = recvRank_;
  }
  return true;
}

bool Transfer::waitSend(int* rank, Milliseconds) {
  wait(sendCv_, sendCompletions_, "send");
  if (rank != nullptr) {
    *rank = sendRank_;
  }
  return true;
}

void Transfer::wait(std::condition_variable& condition, int& completions, const char* what) {
  const auto done = [&] { return completions > 0 || ex_ != nullptr; };
  const auto doneNow = [&] {
    std::lock_guard<std::mutex> lock(m_);
    return done();
  };
  // A pair's lock goes before a transfer's, so this begins and ends without the latter.
  const Reading reading(peer_ >= 0 && !doneNow() ? mesh_.peer(peer_) : nullptr);
  std::unique_lock<std::mutex> lock(m_);
  Milliseconds pause(50);
  while (completions == 0) {
    throwIfException();
    const auto now = Clock::now();
    if (now >= deadline_) {
      throw Failure(kTimeout, std::string("timed out in a ") + what + " of " + std::to_string(size) + " bytes");
    }
    const auto until = std::min<Clock::time_point>(deadline_, now + pause);
    bool woken;
    if (reading.begun()) {
      lock.unlock();
      woken = reading.until(until);
      lock.lock();
    } else {
      woken = condition.wait_until(lock, until, done);
    }
    if (!woken && !done()) {
      lock.unlock();
      const std::string other = mesh_.otherOperation();
      if (!other.empty()) {
        throw Failure(kMismatch, other);
      }
      lock.lock();
      pause = std::min(pause * 2, Milliseconds(1000));
    }
  }
  completions--;
}

bool Transfer::settled(bool receive) {
  std::lock_guard<std::mutex> lock(m_);
  return ex_ != nullptr || (receive ? recvCompletions_ : sendCompletions_) > 0;
}

Peer::Peer(Mesh* mesh, tcp::Device* device, int rank, Milliseconds timeout)
    : tcp::Pair(mesh, device, rank, timeout), mesh_(*mesh) {
  mesh_.open_++;
}

Peer::~Peer() {
  // Closed here and not in the base class, so that the loop thread cannot call into it in between.
  std::lock_guard<std::mutex> lock(m_);
  if (state_ != CLOSED) {
    changeState(CLOSED);
  }
}

void Peer::handleEvents(tcp::Loop&, int events) {
  prepareLoopThread();
  std::unique_lock<std::mutex> lock(m_, std::try_to_lock);
  if (!lock) {
    // The holder may itself wait for this thread to come round, so blocking here could deadlock.
    sched_yield();
    return;
  }
  handle(readByCaller_ ? events & ~EPOLLIN : events);
  if (readByCaller_ && state_ == CONNECTED) {
    listenTo(tx_.empty() ? 0 : EPOLLOUT);
  }
}

void Peer::handle(int events) {
  try {
    if (state_ == CONNECTED) {
      // Another thread may have written the rest since the event.
      handleReadWrite(tx_.empty() ? events & ~EPOLLOUT : events);
    }
  } catch (const std::exception&) {
    const std::string text = plainMessage(std::current_exception());
    if (ex_ == nullptr) {
      signalException(std::make_exception_ptr(
          Failure(kMismatch, "data from rank " + std::to_string(rank_) + " does not fit the operation: " + text)));
    }
  }
  if (state_ == CLOSED) {
    mesh_.wakeReceiversIfAlone();
  }
}

bool Peer::beginReading() {
  std::lock_guard<std::mutex> lock(m_);
  if (readByCaller_ || state_ != CONNECTED) {
    return false;
  }
  readByCaller_ = true;
  listenTo(tx_.empty() ? 0 : EPOLLOUT);
  return true;
}

bool Peer::readUntil(Clock::time_point time) {
  pollfd waiting{-1, POLLIN, 0};
  {
    std::lock_guard<std::mutex> lock(m_);
    if (state_ == CONNECTED) {
      waiting.fd = fd_;
      waiting.events = static_cast<short>(tx_.empty() ? POLLIN : POLLIN | POLLOUT);
    }
  }
  const auto left = std::chrono::duration_cast<Milliseconds>(time - Clock::now()).count() + 1;
  if (waiting.fd >= 0 && ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(left, 0))) <= 0) {
    return false;
  }
  std::lock_guard<std::mutex> lock(m_);
  handle((waiting.revents & POLLOUT) != 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
  return true;
}

void Peer::endReading() {
  std::lock_guard<std::mutex> lock(m_);
  readByCaller_ = false;
  if (state_ == CONNECTED) {
    listenTo(tx_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  }
}

void Peer::adopt(Link link) {
  try {
    const auto socket = std::make_shared<tcp::Socket>(link.fd);
    tls_ = std::move(link.tls);
    socket->peerName();  // throws if the peer has reset it; the base class would wait for the loop to notice
    connectCallback(socket, tcp::Error::kSuccess);
  } catch (const std::exception&) {
    std::lock_guard<std::mutex> lock(m_);
    if (fd_ >= 0) {
      ::close(fd_);  // the loop does not know it, and the base class would leave it open
      fd_ = -1;
    }
    throw Failure(
        kPeerLost, "the connection was lost while it was established: " + plainMessage(std::current_exception()));
  }
}

void Peer::changeState(state next) noexcept {
  if (next == CLOSED && state_ != CLOSED) {
    mesh_.open_--;
    if (ex_ != nullptr) {
      wakeLocked(ex_);
      if (!givenUp_) {
        mesh_.peerFailed(rank_, ex_);
      }
    }
  }
  tcp::Pair::changeState(next);
}

bool Peer::endedWith(const std::exception_ptr& cause) {
  std::lock_guard<std::mutex> lock(m_);  // whoever ends the connection holds it until the connection has its exception
  return ex_ == cause && !givenUp_;
}

void Peer::wake(const std::exception_ptr& cause) {
  std::lock_guard<std::mutex> lock(m_);
  wakeLocked(cause);
  if (readByCaller_ && state_ == CONNECTED) {
    givenUp_ = true;
    ::shutdown(fd_, SHUT_RDWR);  // which wakes who waits for data
  }
}

void Peer::fail(const std::exception_ptr& cause) {
  std::lock_guard<std::mutex> lock(m_);
  if (ex_ == nullptr && state_ != CLOSED) {
    givenUp_ = true;
    signalException(cause);
  }
}

void Peer::wakeLocked(const std::exception_ptr& cause) {
  Transfer::fail(rx_.ubuf, cause);
  for (const auto& op : tx_) {
    Transfer::fail(op.ubuf, cause);
  }
  for (const auto* queues : {&localPendingSend_, &localPendingRecv_}) {
    for (const auto& queue : *queues) {
      for (const auto& op : queue.second) {
        Transfer::fail(std::get<0>(op), cause);
      }
    }
  }
}

Mesh::Mesh(std::shared_ptr<tcp::Device> device, int rank, int size, Milliseconds timeout)
    : tcp::Context(std::move(device), rank, size), exchange_(new Exchange(*this, size)) {
  setTimeout(timeout);
}

Mesh::~Mesh() {
  // Here and not in the base class, since the loop thread may call from a pair into this object until it is closed.
  pairs_.clear();
}

std::unique_ptr<::gloo::transport::Pair>& Mesh::createPair(int rank) {
  pairs_[rank].reset(new Peer(this, device_.get(), rank, getTimeout()));
  return pairs_[rank];
}

bool Mesh::dials(const sockaddr_storage& mine, const sockaddr_storage& theirs) const {
  if (mine.ss_family != theirs.ss_family) {
    throw Failure(
        kInvalid, "one rank listens on IPv4 and the other on IPv6; set GLOO_SOCKET_IFNAME so that all ranks use the same"
                  " version");
  }
  return device_->isInitiator(tcp::Address(mine), tcp::Address(theirs));
}

void Mesh::adopt(int rank, Link link) {
  try {
    createPair(rank);
  } catch (...) {
    ::close(link.fd);
    throw;
  }
  peer(rank)->adopt(std::move(link));
}

std::unique_ptr<::gloo::transport::UnboundBuffer> Mesh::createUnboundBuffer(void* memory, size_t bytes) {
  return transfer(memory, bytes);
}

std::unique_ptr<Transfer> Mesh::transfer(const void* memory, size_t bytes) {
  return transfer(memory, bytes, deadline_);
}

std::unique_ptr<Transfer> Mesh::transfer(const void* memory, size_t bytes, Clock::time_point deadline) {
  return std::unique_ptr<Transfer>(new Transfer(
      std::static_pointer_cast<Mesh>(shared_from_this()), const_cast<void*>(memory), bytes, deadline));
}

void Mesh::enter(uint64_t tag, Clock::time_point deadline) {
  tag_ = tag;
  deadline_ = deadline;
}

void Mesh::fail(const std::exception_ptr& cause, int lost) {
  exchange_->fail(cause, lost);
  // Closing a connection takes up to a tick of the loop thread, so everybody is woken first.
  for (int i = 0; i < size; i++) {
    if (peer(i) != nullptr) {
      peer(i)->wake(cause);
    }
  }
  wakeReceiversFromAny(cause);
  for (int i = 0; i < size; i++) {
    if (peer(i) != nullptr) {
      peer(i)->fail(cause);
    }
  }
}

void Mesh::wakeReceiversFromAny(const std::exception_ptr& cause) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& queue : pendingRecv_) {
    for (const auto& op : queue.second) {
      Transfer::fail(std::get<0>(op), cause);
    }
  }
}

void Mesh::peerFailed(int rank, const std::exception_ptr& cause) {
  std::lock_guard<std::mutex> lock(failureMutex_);
  allLost_.insert(rank);
  if (lostPeer_.empty()) {
    lostPeer_ = "rank " + std::to_string(rank) + ": " + plainMessage(cause);
    lostRank_ = rank;
  }
}

void Mesh::wakeReceiversIfAlone() {
  if (open_ == 0) {
    wakeReceiversFromAny(std::make_exception_ptr(::gloo::IoException("all peers have closed their connections")));
  }
}

int Mesh::lostBy(const std::exception_ptr& cause) {
  for (int i = 0; i < size; i++) {
    if (peer(i) != nullptr && peer(i)->endedWith(cause)) {
      return i;
    }
  }
  return -1;
}

std::string Mesh::lostPeer() {
  std::lock_guard<std::mutex> lock(failureMutex_);
  return lostPeer_;
}

int Mesh::lostRank() {
  std::lock_guard<std::mutex> lock(failureMutex_);
  return lostRank_;
}

bool Mesh::lost(int rank) {
  std::lock_guard<std::mutex> lock(failureMutex_);
  return allLost_.count(rank) != 0;
}

std::string Mesh::otherOperation() {
  const uint64_t mine = tag_;
  if (mine == kNoTag) {
    return "";
  }
  const std::string other = otherAnnouncement();
  return other.empty() ? exchange_->otherOperation(static_cast<uint32_t>(mine)) : other;
}

std::string Mesh::otherAnnouncement() {
  const uint64_t mine = tag_;
  if (mine == kNoTag) {
    return "";
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& pending : pendingOperations_) {
    const uint64_t kind = pending.slot >> 56;
    const uint32_t theirs = static_cast<uint32_t>(pending.slot >> 24);
    if (kind == kPointToPoint || theirs == mine || (theirs & 0xff) != (mine & 0xff)) {
      continue;
    }
    const auto& ranks = pending.getSendList().empty() ? pending.getRecvList() : pending.getSendList();
    if (!ranks.empty()) {
      return inOtherOperation(ranks.front());
    }
  }
  return "";
}

Context::Context(std::shared_ptr<tcp::Device> device, std::shared_ptr<Mesh> mesh, Milliseconds timeout)
    : ::gloo::Context(mesh->rank, mesh->size) {
  device_ = std::move(device);
  transportContext_ = std::move(mesh);
  setTimeout(timeout);
}

std::shared_ptr<tcp::Device> deviceAt(const std::string& address) {
  // Never destroyed: communicators may outlive static destruction when the process exits.
  static auto& mutex = *new std::mutex();
  static auto& devices = *new std::map<std::string, std::weak_ptr<tcp::Device>>();
  std::lock_guard<std::mutex> lock(mutex);
  auto device = devices[address].lock();
  if (device == nullptr) {
    tcp::attr attributes;
    attributes.hostname = address;
    attributes.ai_family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
    device = std::static_pointer_cast<tcp::Device>(tcp::CreateDevice(attributes));
    devices[address] = device;
  }
  return device;
}

}  // namespace jccl
