// The ranks of groups as threads of one process, for sanitizers that a JVM does not run under: every collective, messages
// beside them, groups that come and go, and an abort in the middle. Prints "ok", or what went wrong.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jccl_gloo.h"
#include "reduce.h"

namespace {

constexpr int kTimeoutMillis = 60000;

[[noreturn]] void die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(1);
}

std::string messageOf(int64_t handle) {
  std::vector<signed char> text(1000);
  const int length = jccl_gloo_message(handle, text.data(), static_cast<int>(text.size()));
  return std::string(text.begin(), text.begin() + length);
}

void require(bool condition, const char* what, int64_t handle) {
  if (!condition) {
    die(std::string(what) + ": " + messageOf(handle));
  }
}

// Where the threads of a group wait for one another.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size) {}

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const int round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      round_++;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int round_ = 0;
};

// The files of a certificate that is its own authority and of its key, DER.
struct Credentials {
  std::vector<signed char> certificate;
  std::vector<signed char> key;
};

// Null while connections are plain.
const Credentials* encryption = nullptr;

std::vector<signed char> read(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<signed char> bytes(std::istreambuf_iterator<char>(in), {});
  if (bytes.empty()) {
    die(std::string("cannot read ") + file);
  }
  return bytes;
}

void encrypt(int64_t handle) {
  const auto& certificate = encryption->certificate;
  const int length = static_cast<int>(certificate.size());
  const int status = jccl_gloo_tls(
      handle, certificate.data(), length, encryption->key.data(), static_cast<int>(encryption->key.size()),
      certificate.data(), length);
  require(status == 0, "tls", handle);
}

struct Rank {
  int rank;
  int size;
  int64_t handle;
};

void inGroup(int size, bool torch, const std::function<void(const Rank&)>& body) {
  Meeting meeting(size);
  std::vector<std::vector<std::vector<signed char>>> addresses(size, std::vector<std::vector<signed char>>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; rank++) {
    threads.emplace_back([&, rank] {
      const int64_t handle = jccl_gloo_create(rank, size, kTimeoutMillis, torch ? 1 : 0, 0);
      if (encryption != nullptr) {
        encrypt(handle);
      }
      require(jccl_gloo_listen(handle, "127.0.0.1", 1000) == 0, "listen", handle);
      for (int peer = 0; peer < size; peer++) {
        auto& address = addresses[rank][peer];
        address.resize(1024);
        const int length = peer == rank ? 0 : jccl_gloo_address(handle, peer, address.data(), 1024);
        require(length >= 0, "address", handle);
        address.resize(length);
      }
      meeting.wait();
      for (int peer = 0; peer < size; peer++) {
        if (peer != rank) {
          const auto& address = addresses[peer][rank];
          require(
              jccl_gloo_connect(handle, peer, address.data(), static_cast<int>(address.size()), kTimeoutMillis) == 0,
              "connect", handle);
        }
      }
      body({rank, size, handle});
      jccl_gloo_close(handle);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

class Elements {
 public:
  explicit Elements(size_t count, int32_t value = 0) : values_(count, value) {}
  int64_t address() { return reinterpret_cast<int64_t>(values_.data()); }
  void expect(int32_t wanted, const char* what) {
    for (const int32_t value : values_) {
      if (value != wanted) {
        die(std::string(what) + ": " + std::to_string(value) + " instead of " + std::to_string(wanted));
      }
    }
  }

 private:
  std::vector<int32_t> values_;
};

constexpr int kInt = jccl::kInt32;

void collectives(const Rank& r, int64_t count) {
  const auto good = [&](int status, const char* what) { require(status == 0, what, r.handle); };
  const int sum = r.size * (r.size + 1) / 2;
  const int mine = r.rank + 1;
  Elements one(count, mine);
  good(jccl_gloo_all_reduce(r.handle, one.address(), one.address(), count, kInt, jccl::kSum, 1), "all_reduce");
  one.expect(sum, "all_reduce");
  for (int root = 0; root < r.size; root++) {
    Elements data(count, mine);
    good(jccl_gloo_broadcast(r.handle, data.address(), count, kInt, root), "broadcast");
    data.expect(root + 1, "broadcast");
    Elements input(count, mine);
    Elements output(count);
    good(
        jccl_gloo_reduce(r.handle, input.address(), output.address(), count, kInt, jccl::kMax, 1, root), "reduce");
    output.expect(r.rank == root ? r.size : 0, "reduce");
    Elements all(count * r.size, mine);
    good(jccl_gloo_gather(r.handle, input.address(), all.address(), count, kInt, root), "gather");
    good(jccl_gloo_scatter(r.handle, all.address(), output.address(), count, kInt, root), "scatter");
    output.expect(r.rank + 1, "gather and scatter");
  }
  Elements whole(count * r.size, mine);
  Elements other(count * r.size);
  Elements part(count);
  good(
      jccl_gloo_reduce_scatter(r.handle, whole.address(), part.address(), count, kInt, jccl::kSum, 1),
      "reduce_scatter");
  part.expect(sum, "reduce_scatter");
  good(jccl_gloo_all_gather(r.handle, part.address(), other.address(), count, kInt), "all_gather");
  other.expect(sum, "all_gather");
  good(jccl_gloo_all_to_all(r.handle, other.address(), whole.address(), count, kInt), "all_to_all");
  whole.expect(sum, "all_to_all");
  good(jccl_gloo_barrier(r.handle, 60000), "barrier with a deadline");
  good(jccl_gloo_barrier(r.handle, 0), "barrier");
}

// Each rank sends to the next and receives from any, or from the one before.
void messages(const Rank& r, int rounds) {
  const int next = (r.rank + 1) % r.size;
  const int previous = (r.rank + r.size - 1) % r.size;
  for (int round = 0; round < rounds; round++) {
    const int64_t count = round % 5 == 0 ? 100000 : 10;
    Elements out(count, round);
    Elements in(count);
    const int64_t received =
        jccl_gloo_recv(r.handle, in.address(), count, kInt, round % 3 == 0 ? -1 : previous, round);
    const int64_t sent = jccl_gloo_send(r.handle, out.address(), count, kInt, next, round);
    require(received > 0 && sent > 0, "message", r.handle);
    while (jccl_gloo_test(r.handle, received) == 0) {
      std::this_thread::yield();
    }
    require(jccl_gloo_await(r.handle, received) == previous + 1, "recv", r.handle);
    require(jccl_gloo_await(r.handle, sent) == 0, "send", r.handle);
    in.expect(round, "message");
  }
}

void everything(bool torch) {
  for (const int size : {1, 2, 4, 5}) {
    inGroup(size, torch, [](const Rank& r) {
      std::thread beside([&] {
        if (r.size > 1) {
          messages(r, 30);
        }
      });
      for (const int64_t count : {1, 7, 1000, 300000}) {
        collectives(r, count);
      }
      beside.join();
    });
  }
}

void comeAndGo(bool torch) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([=] {
      for (int round = 0; round < 10; round++) {
        inGroup(2 + (i + round) % 3, torch, [](const Rank& r) { collectives(r, 100); });
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

// What has no elements has no address either.
void nothing(const Rank& r) {
  const auto good = [&](int status, const char* what) { require(status == 0, what, r.handle); };
  good(jccl_gloo_broadcast(r.handle, 0, 0, kInt, 0), "broadcast of nothing");
  good(jccl_gloo_all_reduce(r.handle, 0, 0, 0, kInt, jccl::kSum, 1), "all_reduce of nothing");
  good(jccl_gloo_reduce(r.handle, 0, 0, 0, kInt, jccl::kSum, 1, 0), "reduce of nothing");
  good(jccl_gloo_all_gather(r.handle, 0, 0, 0, kInt), "all_gather of nothing");
  good(jccl_gloo_gather(r.handle, 0, 0, 0, kInt, 0), "gather of nothing");
  good(jccl_gloo_scatter(r.handle, 0, 0, 0, kInt, 0), "scatter of nothing");
  good(jccl_gloo_reduce_scatter(r.handle, 0, 0, 0, kInt, jccl::kSum, 1), "reduce_scatter of nothing");
  good(jccl_gloo_all_to_all(r.handle, 0, 0, 0, kInt), "all_to_all of nothing");
  // Rank 0 has something, the others nothing.
  std::vector<int64_t> counts(r.size);
  counts[0] = 5;
  Elements five(5, 1);
  Elements all(5);
  const int64_t mine = r.rank == 0 ? all.address() : 0;
  good(
      jccl_gloo_reduce_scatter_v(r.handle, five.address(), mine, counts.data(), kInt, jccl::kSum, 1),
      "reduce_scatter to one rank");
  const int64_t received = jccl_gloo_recv(r.handle, 0, 0, kInt, -1, 1);
  const int64_t sent = jccl_gloo_send(r.handle, 0, 0, kInt, (r.rank + 1) % r.size, 1);
  require(jccl_gloo_await(r.handle, received) > 0 && jccl_gloo_await(r.handle, sent) == 0, "empty message", r.handle);
}

// A rank that cannot take a connection says so at once.
void noDescriptors() {
  for (bool dialled = false; !dialled;) {
    int64_t handles[2];
    signed char addresses[2][1024];
    int lengths[2];
    for (int rank = 0; rank < 2; rank++) {
      handles[rank] = jccl_gloo_create(rank, 2, kTimeoutMillis, 1, 0);
      require(jccl_gloo_listen(handles[rank], "127.0.0.1", 1000) == 0, "listen", handles[rank]);
      lengths[rank] = jccl_gloo_address(handles[rank], 1 - rank, addresses[rank], 1024);
    }
    // Which one dials depends on their ports; the one that does is not kept waiting.
    dialled = jccl_gloo_connect(handles[0], 1, addresses[1], lengths[1], 100) == 0;
    if (dialled) {
      const int free = dup(0);
      close(free);
      rlimit before;
      getrlimit(RLIMIT_NOFILE, &before);
      rlimit none{static_cast<rlim_t>(free), before.rlim_max};
      setrlimit(RLIMIT_NOFILE, &none);
      const int status = jccl_gloo_connect(handles[1], 0, addresses[0], lengths[0], kTimeoutMillis);
      setrlimit(RLIMIT_NOFILE, &before);
      require(status == jccl::kInternal, "connecting without descriptors", handles[1]);
    }
    jccl_gloo_close(handles[0]);
    jccl_gloo_close(handles[1]);
  }
}

int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) {
    count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  }
  return count;
}

// A rank that can connect, but has no descriptor for what gloo opens besides, gives back the one it had.
void oneDescriptor() {
  for (int status = jccl::kTimeout; status == jccl::kTimeout;) {
    const int before = openDescriptors();
    int64_t handles[2];
    signed char address[1024];
    for (int rank = 0; rank < 2; rank++) {
      handles[rank] = jccl_gloo_create(rank, 2, kTimeoutMillis, 0, 0);
      require(jccl_gloo_listen(handles[rank], "127.0.0.1", 1000) == 0, "listen", handles[rank]);
    }
    const int length = jccl_gloo_address(handles[1], 0, address, 1024);
    const int free = dup(0);
    close(free);
    rlimit usual;
    getrlimit(RLIMIT_NOFILE, &usual);
    rlimit one{static_cast<rlim_t>(free) + 1, usual.rlim_max};
    setrlimit(RLIMIT_NOFILE, &one);
    // A timeout where the other one is to dial, which depends on their ports.
    status = jccl_gloo_connect(handles[0], 1, address, length, 100);
    setrlimit(RLIMIT_NOFILE, &usual);
    require(status != 0, "connecting with one descriptor", handles[0]);
    jccl_gloo_close(handles[0]);
    jccl_gloo_close(handles[1]);
    if (openDescriptors() != before) {
      die("a failed connect keeps descriptors");
    }
  }
}

// One rank's communicator is aborted by a thread of its own, and closed by another one while calls are inside.
void endSuddenly(bool torch, int round) {
  std::atomic<int> calls{0};
  inGroup(3, torch, [&](const Rank& r) {
    std::thread aborts([&] {
      while (r.rank == 1 && calls < 3 * round) {
        std::this_thread::yield();
      }
      if (r.rank == 1) {
        jccl_gloo_abort(r.handle);
        jccl_gloo_close(r.handle);
      }
    });
    Elements in(3000);
    Elements out(3000);
    int status = 0;
    while (status == 0) {
      status = jccl_gloo_all_to_all(r.handle, in.address(), out.address(), 1000, kInt);
      calls++;
    }
    aborts.join();
    require(status == (r.rank == 1 ? jccl::kAborted : jccl::kPeerLost), "after an abort", r.handle);
  });
}

}  // namespace

// Arguments: the files of a certificate and of its key, for encrypted connections.
int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);  // as in a JVM
  noDescriptors();
  oneDescriptor();
  for (const int size : {2, 3}) {
    inGroup(size, false, nothing);
  }
  const auto all = [](bool torch) {
    everything(torch);
    comeAndGo(torch);
    for (int round = 1; round < 20; round++) {
      endSuddenly(torch, round);
    }
  };
  all(false);
  all(true);
  if (count == 3) {
    const Credentials credentials{read(arguments[1]), read(arguments[2])};
    encryption = &credentials;
    all(false);
    encryption = nullptr;
  }
  std::puts("ok");
  return 0;
}
