#include "jccl_gloo.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gloo/config.h>

#include "collectives.h"
#include "torch.h"

namespace {

using jccl::Communicator;

// Never destroyed: threads may still be inside a call when the process exits.
struct Registry {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<Communicator>> communicators;
  int64_t next = 1;
};

Registry& registry() {
  static auto& instance = *new Registry();
  return instance;
}

std::shared_ptr<Communicator> find(int64_t handle) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().communicators.find(handle);
  return found == registry().communicators.end() ? nullptr : found->second;
}

// A handle that is unknown was closed.
template <typename Call>
int guarded(int64_t handle, Call&& call) noexcept {
  const auto communicator = find(handle);
  return communicator == nullptr ? jccl::kAborted : communicator->guard([&] { call(*communicator); });
}

// For calls that return a number: the number when all went well, else -Status.
template <typename Result, typename Call>
Result valued(int64_t handle, Call&& call) noexcept {
  Result result = 0;
  const int status = guarded(handle, [&](Communicator& c) { result = call(c); });
  return status == jccl::kOk ? result : static_cast<Result>(-status);
}

template <typename T = void>
T* memory(int64_t address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace

const char* jccl_gloo_version() noexcept {
  static const std::string version = std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
                                     "." + std::to_string(GLOO_VERSION_PATCH);
  return version.c_str();
}

int64_t jccl_gloo_create(
    int rank, int size, int64_t timeout_millis, int torch, int64_t busy_poll_nanos) noexcept try {
  std::shared_ptr<Communicator> communicator;
  if (torch != 0) {
    communicator = std::make_shared<jccl::TorchCommunicator>(rank, size, timeout_millis);
  } else {
    communicator = std::make_shared<jccl::Collectives>(
        rank, size, timeout_millis, std::chrono::nanoseconds(busy_poll_nanos));
  }
  std::lock_guard<std::mutex> lock(registry().mutex);
  const int64_t handle = registry().next++;
  registry().communicators[handle] = std::move(communicator);
  return handle;
} catch (...) {
  return -jccl::kInternal;  // nothing in it throws but an allocation
}

int jccl_gloo_tls(
    int64_t handle, const signed char* certificates, int certificates_length, const signed char* key, int key_length,
    const signed char* authorities, int authorities_length) noexcept {
  const auto encoded = [](const signed char* bytes, int length) {
    return jccl::Encoded{reinterpret_cast<const unsigned char*>(bytes), length};
  };
  return guarded(handle, [&](Communicator& c) {
    c.setTls(std::make_unique<jccl::TlsContext>(
        encoded(certificates, certificates_length), encoded(key, key_length),
        encoded(authorities, authorities_length)));
  });
}

int jccl_gloo_listen(int64_t handle, const char* address, int64_t first_number) noexcept {
  return guarded(handle, [&](Communicator& c) { c.listen(address, first_number); });
}

int jccl_gloo_address(int64_t handle, int peer, signed char* out, int capacity) noexcept {
  return valued<int>(handle, [&](Communicator& c) {
    const auto bytes = c.addressFor(peer);
    if (bytes.size() > static_cast<size_t>(capacity)) {
      throw jccl::Failure(jccl::kInternal, "an address takes " + std::to_string(bytes.size()) + " bytes");
    }
    std::memcpy(out, bytes.data(), bytes.size());
    return static_cast<int>(bytes.size());
  });
}

int jccl_gloo_await_caller(
    int64_t handle, int peer, const signed char* address, int length, int64_t timeout_millis) noexcept {
  return valued<int>(handle, [&](Communicator& c) {
    return c.awaitCaller(peer, std::vector<char>(address, address + length), timeout_millis) ? 1 : 0;
  });
}

int jccl_gloo_connect(
    int64_t handle, int peer, const signed char* address, int length, int64_t timeout_millis) noexcept {
  return guarded(handle, [&](Communicator& c) {
    c.connect(peer, std::vector<char>(address, address + length), timeout_millis);
  });
}

int jccl_gloo_barrier(int64_t handle, int64_t timeout_millis) noexcept {
  return guarded(handle, [=](Communicator& c) { c.barrier(timeout_millis); });
}

int jccl_gloo_broadcast(int64_t handle, int64_t data, int64_t count, int type, int root) noexcept {
  return guarded(handle, [&](Communicator& c) { c.broadcast(memory(data), count, type, root); });
}

int jccl_gloo_all_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept {
  return guarded(handle, [&](Communicator& c) { c.allReduce(memory(in), memory(out), count, type, kind, factor); });
}

int jccl_gloo_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor, int root) noexcept {
  return guarded(
      handle, [&](Communicator& c) { c.reduce(memory(in), memory(out), count, type, kind, factor, root); });
}

int jccl_gloo_all_gather(int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept {
  return guarded(handle, [&](Communicator& c) { c.allGather(memory(in), memory(out), count, type); });
}

int jccl_gloo_all_gather_v(int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type) noexcept {
  return guarded(handle, [&](Communicator& c) { c.allGatherV(memory(in), memory(out), counts, type); });
}

int jccl_gloo_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept {
  return guarded(handle, [&](Communicator& c) { c.gather(memory(in), memory(out), count, type, root); });
}

int jccl_gloo_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept {
  return guarded(handle, [&](Communicator& c) { c.scatter(memory(in), memory(out), count, type, root); });
}

int jccl_gloo_reduce_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept {
  return guarded(handle, [&](Communicator& c) {
    c.reduceScatter(memory(in), memory(out), count, type, kind, factor);
  });
}

int jccl_gloo_reduce_scatter_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type, int kind, double factor) noexcept {
  return guarded(
      handle, [&](Communicator& c) { c.reduceScatterV(memory(in), memory(out), counts, type, kind, factor); });
}

int jccl_gloo_all_to_all(int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept {
  return guarded(handle, [&](Communicator& c) {
    const std::vector<int64_t> counts(c.size(), count);
    c.allToAllV(memory(in), memory(out), counts.data(), counts.data(), type);
  });
}

int jccl_gloo_all_to_all_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* in_counts, const int64_t* out_counts, int type) noexcept {
  return guarded(
      handle, [&](Communicator& c) { c.allToAllV(memory(in), memory(out), in_counts, out_counts, type); });
}

int64_t jccl_gloo_send(int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept {
  return valued<int64_t>(handle, [&](Communicator& c) { return c.send(memory(data), count, type, peer, tag); });
}

int64_t jccl_gloo_recv(int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept {
  return valued<int64_t>(handle, [&](Communicator& c) { return c.recv(memory(data), count, type, peer, tag); });
}

int jccl_gloo_test(int64_t handle, int64_t request) noexcept {
  return valued<int>(handle, [&](Communicator& c) { return c.test(request) ? 1 : 0; });
}

int jccl_gloo_await(int64_t handle, int64_t request) noexcept {
  return valued<int>(handle, [&](Communicator& c) { return c.await(request) + 1; });
}

int jccl_gloo_lost(int64_t handle, int peer) noexcept {
  const auto communicator = find(handle);
  return communicator != nullptr && communicator->lost(peer) ? 1 : 0;
}

void jccl_gloo_abort(int64_t handle) noexcept {
  const auto communicator = find(handle);
  if (communicator != nullptr) {
    communicator->abort();
  }
}

void jccl_gloo_close(int64_t handle) noexcept {
  std::shared_ptr<Communicator> last;
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto found = registry().communicators.find(handle);
  if (found != registry().communicators.end()) {
    last = std::move(found->second);
    registry().communicators.erase(found);
  }
}

int jccl_gloo_message(int64_t handle, signed char* out, int capacity) noexcept try {
  const auto communicator = find(handle);
  const std::string text = communicator == nullptr ? "the communicator was closed" : communicator->message();
  const auto length = std::min(text.size(), static_cast<size_t>(capacity));
  std::memcpy(out, text.data(), length);
  return static_cast<int>(length);
} catch (...) {
  return 0;  // no memory for the text; the status says what it was
}
