#include "jccl_mpi.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "communicator.h"
#include "process_state.h"
#include "progress.h"

namespace {

using jccl::Call;
using jccl::Communicator;
using jccl::Failure;
using jccl::Message;

thread_local std::string message;

bool initialisedHere = false;

// Exit codes above it are those of signals.
constexpr int kSignals = 128;

// The process that initialised MPI.
pid_t process = 0;

// Whether this process ends the job.
std::atomic<bool> ending{false};

int noted(int status, const char* text) noexcept {
  try {
    message = text;
  } catch (...) {
    message.clear();  // out of memory; the status must do
  }
  return -status;
}

// The result of a call, or -Status.
template <typename Result, typename Call>
Result guarded(Call&& call) noexcept {
  try {
    return static_cast<Result>(call());
  } catch (const Failure& failure) {
    return noted(failure.status, failure.what());
  } catch (const std::exception& failure) {
    return noted(jccl::kInternal, failure.what());
  } catch (...) {
    return noted(jccl::kInternal, "unknown C++ exception");
  }
}

Communicator& communicator(int64_t handle) { return *reinterpret_cast<Communicator*>(handle); }

void* memory(int64_t address) { return reinterpret_cast<void*>(address); }

int collective(int64_t handle, const Call& call) noexcept {
  return guarded<int>([&] {
    communicator(handle).collective(call);
    return jccl::kOk;
  });
}

bool isFinalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

// Other ranks close at the same time as a rule, and some libraries tell of messages that were not received.
void reapForAMoment() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!jccl::reapRetired() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Returns false where the library has operations in its hands, with which MPI_Finalize may never return.
bool finalize() {
  if (!initialisedHere || isFinalized()) {
    return true;
  }
  jccl::stopProgress();
  if (!jccl::endOperations()) {
    return false;
  }
  guarded<int>([] {
    reapForAMoment();
    return jccl::kOk;
  });
  jccl::freeOperations();
  MPI_Finalize();
  return true;
}

// The last that the process does, and the first place that knows its exit code: a shutdown hook of Java does not. Other
// ranks would wait in MPI_Finalize, or in a collective, for one that has failed.
void atExit(int code, void*) {
  if (ending) {
    _exit(code);  // MPI_Abort leaves by exit, beside threads that still run
  }
  if (getpid() != process || isFinalized() || code > kSignals) {
    return;  // of a forked process, or of a signal, which the launcher has sent or sees
  }
  if (code == 0 && finalize()) {
    return;
  }
  std::fprintf(
      stderr,
      "jccl: this process exits with code %d and %s. This ends the job: the other ranks would wait. Close groups before the"
      " end of the program.\n",
      code, jccl::openGroups() > 0 ? "an open group" : "operations that MPI has not completed");
  jccl_mpi_end_job(code == 0 ? 1 : code);
}

// Returns whether MPI was not initialised before.
bool init() {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);  // MPI_Init_thread may be called once only
  const jccl::ProcessState restored;
  int flag = 0;
  jccl::check(MPI_Finalized(&flag), "MPI_Finalized");
  if (flag) {
    throw Failure(jccl::kInvalid, "MPI was finalised in this process and cannot be initialised again");
  }
  int level = MPI_THREAD_SINGLE;
  jccl::check(MPI_Initialized(&flag), "MPI_Initialized");
  if (flag) {
    jccl::check(MPI_Query_thread(&level), "MPI_Query_thread");
  } else {
    jccl::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    initialisedHere = true;
    process = getpid();
    on_exit(atExit, nullptr);  // after MPI's own, and so before them
    jccl::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    jccl::check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  if (level < MPI_THREAD_MULTIPLE) {
    const char* given = level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                        : level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                       : "MPI_THREAD_SINGLE";
    throw Failure(
        jccl::kInvalid, std::string("MPI was initialised with ") + given +
                            ", but several threads of a JVM call it: initialise it with MPI_THREAD_MULTIPLE, or use an"
                            " MPI library that was built for it");
  }
  if (!flag) {
    jccl::prepareProgress();
  }
  return !flag;
}

// Of a group that could not be made. Other members may have made theirs, so it is freed as those of closed groups are.
void handBack(const std::vector<MPI_Comm>& comms) noexcept {
  try {
    jccl::retire(comms, jccl::Traffic());
  } catch (...) {
    // It is kept. The failure that is under way tells the reason.
  }
}

int64_t create(const int* worldRanks, int size, int tag, jccl::Options options) {
  jccl::reapRetired();
  const jccl::InsideLibrary inside;
  MPI_Group world;
  MPI_Group members;
  std::vector<MPI_Comm> comms(1);
  jccl::check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  const int included = MPI_Group_incl(world, size, worldRanks, &members);
  const int worldFreed = MPI_Group_free(&world);
  jccl::check(included, "MPI_Group_incl");
  jccl::check(worldFreed, "MPI_Group_free");
  const int created = MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &comms[0]);
  const int membersFreed = MPI_Group_free(&members);
  jccl::check(created, "MPI_Comm_create_group");
  try {
    // First, since the other members do it too, and wait for this one.
    MPI_Comm comparisons;
    jccl::check(MPI_Comm_dup(comms[0], &comparisons), "MPI_Comm_dup");
    comms.push_back(comparisons);
    jccl::check(membersFreed, "MPI_Group_free");
    return reinterpret_cast<int64_t>(new Communicator(comms[0], comms[1], options));
  } catch (...) {
    handBack(comms);
    throw;
  }
}

}  // namespace

const char* jccl_mpi_version() noexcept {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING + 1];
  int length = 0;
  MPI_Get_library_version(text, &length);
  // MPICH tells how it was configured on further lines.
  if (char* end = std::strchr(text, '\n')) {
    *end = '\0';
  }
  std::replace(text, text + std::strlen(text), '\t', ' ');
  return text;
}

int jccl_mpi_init(int local_ranks) noexcept {
  return guarded<int>([&] {
    jccl::setLocalRanks(local_ranks);
    return init() ? 1 : 0;
  });
}

int jccl_mpi_world_rank() noexcept {
  return guarded<int>([] {
    int rank = 0;
    jccl::check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    return rank;
  });
}

int jccl_mpi_world_size() noexcept {
  return guarded<int>([] {
    int size = 0;
    jccl::check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    return size;
  });
}

int jccl_mpi_world_broadcast(signed char* bytes, int length, int64_t timeout_millis) noexcept {
  return guarded<int>([&] {
    auto copy = std::make_unique<std::vector<signed char>>(bytes, bytes + length);
    MPI_Request request;
    jccl::check(MPI_Ibcast(copy->data(), length, MPI_BYTE, 0, MPI_COMM_WORLD, &request), "MPI_Ibcast");
    // Not freed when the time is over: the library may still write to it.
    auto* begun = copy.release();
    jccl::awaitRequest(&request, timeout_millis, "MPI_Ibcast");
    copy.reset(begun);
    std::copy(copy->begin(), copy->end(), bytes);
    return jccl::kOk;
  });
}

int jccl_mpi_start_progress() noexcept {
  return guarded<int>([] {
    if (!initialisedHere) {
      throw Failure(
          jccl::kInvalid, "MPI was initialised by another part of this process, which may finalise it at any time, so"
                          " there can be no progress thread");
    }
    jccl::startProgress();
    return jccl::kOk;
  });
}

int jccl_mpi_progress() noexcept {
  return guarded<int>([] {
    jccl::progress();
    return jccl::kOk;
  });
}

void jccl_mpi_exit() noexcept {
  if (jccl::openGroups() == 0) {
    finalize();
  }
}

void jccl_mpi_end_job(int code) noexcept {
  ending = true;
  MPI_Abort(MPI_COMM_WORLD, code);
}

int jccl_mpi_largest_tag() noexcept { return jccl::largestTag() - 1; }

int jccl_mpi_takes_cuda() noexcept { return jccl::takesCuda() ? 1 : 0; }

int jccl_mpi_reduces_on_devices(int type, int kind) noexcept { return jccl::reducesWithoutHost(type, kind) ? 1 : 0; }

void jccl_mpi_set_largest_call(int64_t bytes) noexcept { jccl::largestCall = bytes; }

int64_t jccl_mpi_create(
    const int* world_ranks, int size, int tag, int checked, int trusted, int on_device) noexcept {
  return guarded<int64_t>([&] {
    return create(world_ranks, size, tag, {checked != 0, trusted != 0, on_device != 0});
  });
}

int64_t jccl_mpi_shared_world() noexcept {
  return guarded<int64_t>([] { return reinterpret_cast<int64_t>(Communicator::sharedWorld()); });
}

int jccl_mpi_barrier(int64_t handle) noexcept { return collective(handle, {jccl::kBarrier}); }

int jccl_mpi_broadcast(
    int64_t handle, int64_t data, int64_t count, int type, int root) noexcept {
  return collective(handle, {jccl::kBroadcast, nullptr, memory(data), count, type, 0, 0, root});
}

int jccl_mpi_all_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept {
  return collective(handle, {jccl::kAllReduce, memory(in), memory(out), count, type, kind, factor});
}

int jccl_mpi_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor, int root) noexcept {
  return collective(handle, {jccl::kReduce, memory(in), memory(out), count, type, kind, factor, root});
}

int jccl_mpi_all_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept {
  return collective(handle, {jccl::kAllGather, memory(in), memory(out), count, type});
}

int jccl_mpi_all_gather_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type) noexcept {
  return collective(
      handle, {jccl::kAllGatherV, memory(in), memory(out), 0, type, 0, 0, 0, nullptr, counts});
}

int jccl_mpi_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept {
  return collective(handle, {jccl::kGather, memory(in), memory(out), count, type, 0, 0, root});
}

int jccl_mpi_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept {
  return collective(handle, {jccl::kScatter, memory(in), memory(out), count, type, 0, 0, root});
}

int jccl_mpi_reduce_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept {
  return collective(handle, {jccl::kReduceScatter, memory(in), memory(out), count, type, kind, factor});
}

int jccl_mpi_reduce_scatter_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type, int kind, double factor) noexcept {
  return collective(
      handle, {jccl::kReduceScatterV, memory(in), memory(out), 0, type, kind, factor, 0, counts, nullptr});
}

int jccl_mpi_all_to_all(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept {
  return collective(handle, {jccl::kAllToAll, memory(in), memory(out), count, type});
}

int jccl_mpi_all_to_all_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* in_counts, const int64_t* out_counts, int type) noexcept {
  return collective(
      handle, {jccl::kAllToAllV, memory(in), memory(out), 0, type, 0, 0, 0, in_counts, out_counts});
}

int64_t jccl_mpi_send(int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept {
  return guarded<int64_t>([&] {
    return reinterpret_cast<int64_t>(communicator(handle).send(memory(data), count, type, peer, tag));
  });
}

int64_t jccl_mpi_recv(int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept {
  return guarded<int64_t>([&] {
    return reinterpret_cast<int64_t>(communicator(handle).receive(memory(data), count, type, peer, tag));
  });
}

int jccl_mpi_test(int64_t handle, int64_t request) noexcept {
  return guarded<int>([&] { return communicator(handle).test(reinterpret_cast<Message*>(request)) ? 1 : 0; });
}

int jccl_mpi_await(int64_t handle, int64_t request) noexcept {
  return guarded<int>([&] { return communicator(handle).await(reinterpret_cast<Message*>(request)) + 1; });
}

int jccl_mpi_abandoned(int64_t handle) noexcept { return communicator(handle).abandoned() ? 1 : 0; }

int jccl_mpi_largest_user_tag(int64_t handle) noexcept { return communicator(handle).largestUserTag(); }

void jccl_mpi_abort(int64_t handle) noexcept { communicator(handle).abort(); }

int jccl_mpi_close(int64_t handle) noexcept {
  return guarded<int>([&] {
    std::unique_ptr<Communicator> freed(&communicator(handle));
    freed->close();
    if (freed->abandoned()) {
      freed.release();  // a call that was given up may return to it
    }
    return jccl::kOk;
  });
}

int jccl_mpi_message(signed char* out, int capacity) noexcept {
  const auto length = std::min(message.size(), static_cast<size_t>(capacity));
  std::memcpy(out, message.data(), length);
  return static_cast<int>(length);
}
