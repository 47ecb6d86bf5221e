// One rank of a job that mpirun starts, for sanitizers that a JVM does not run under: every collective, whole and in
// parts, messages beside them, groups that come and go, and an abort. Prints "ok" on every rank, or what
// went wrong.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../communicator.h"
#include "../jccl_mpi.h"

namespace {

using jccl::kInt32;

[[noreturn]] void die(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(1);
}

// Negative results are statuses.
int64_t good(int64_t result, const char* what) {
  if (result < 0) {
    std::array<signed char, 1000> text;
    const int length = jccl_mpi_message(text.data(), static_cast<int>(text.size()));
    die(std::string(what) + ": status " + std::to_string(-result) + ", " +
        std::string(text.begin(), text.begin() + length));
  }
  return result;
}

class Elements {
 public:
  explicit Elements(int64_t count, int32_t value = 0) : values_(static_cast<size_t>(count), value) {}

  // What a rank has, different at each place.
  __attribute__((no_sanitize("thread"))) void number(int rank) {
    int64_t place = 0;
    int32_t* value = values_.data();
    for (const int32_t* end = value + values_.size(); value != end; value++) {
      *value = numbered(rank, place++);
    }
  }

  static int32_t numbered(int rank, int64_t place) { return static_cast<int32_t>(place % 9973 + 10000 * (rank + 1)); }

  // The sum of what some ranks numbered, from a place on.
  __attribute__((no_sanitize("thread"))) void expectSums(int rank, int end, int64_t place, const char* what) {
    const int32_t* value = values_.data();
    for (const int32_t* last = value + values_.size(); value != last; value++, place++) {
      int32_t sum = 0;
      for (int each = rank; each < end; each++) {
        sum += numbered(each, place);
      }
      if (*value != sum) {
        die(std::string(what) + ": " + std::to_string(*value) + " instead of " + std::to_string(sum));
      }
    }
  }

  // The bits of floats whose sum depends on the order of the ranks.
  __attribute__((no_sanitize("thread"))) void fillWithFloats(int rank) {
    int place = 0;
    int32_t* value = values_.data();
    for (const int32_t* end = value + values_.size(); value != end; value++, place++) {
      const float filled = std::ldexp(1.0f + static_cast<float>(place % 97) / 97, (place * 7 + rank * 13) % 24);
      *value = __builtin_bit_cast(int32_t, filled);
    }
  }

  __attribute__((no_sanitize("thread"))) void copyFrom(const Elements& other) {
    int32_t* to = values_.data();
    const int32_t* from = other.values_.data();
    for (const int32_t* end = from + other.values_.size(); from != end; from++, to++) {
      *to = *from;
    }
  }

  __attribute__((no_sanitize("thread"))) bool equals(const Elements& other) const {
    const int32_t* a = values_.data();
    const int32_t* b = other.values_.data();
    bool same = true;
    for (const int32_t* end = a + values_.size(); a != end; a++, b++) {
      same &= *a == *b;
    }
    return same;
  }

  __attribute__((no_sanitize("thread"))) Elements part(int64_t begin, int64_t count) const {
    Elements copy(count);
    for (int64_t i = 0; i < count; i++) {
      copy.values_.data()[i] = values_.data()[begin + i];
    }
    return copy;
  }

  int64_t address() { return reinterpret_cast<int64_t>(values_.data()); }

  // Not instrumented: another thread of this rank may have moved the data for MPI, in an order that only MPI knows of.
  __attribute__((no_sanitize("thread"))) void expect(int32_t wanted, const char* what) {
    const int32_t* value = values_.data();
    for (const int32_t* end = value + values_.size(); value != end; value++) {
      if (*value != wanted) {
        die(std::string(what) + ": " + std::to_string(*value) + " instead of " + std::to_string(wanted));
      }
    }
  }

 private:
  std::vector<int32_t> values_;
};

class Group {
 public:
  // Of all ranks. The options are those of jccl_mpi_create.
  explicit Group(int tag, bool checked = false, bool trusted = false)
      : rank(jccl_mpi_world_rank()), size(jccl_mpi_world_size()) {
    std::vector<int> ranks(static_cast<size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    handle = good(jccl_mpi_create(ranks.data(), size, tag, checked, trusted, false), "create");
  }

  ~Group() { good(jccl_mpi_close(handle), "close"); }

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Waits for what was started; asks first every other time, as the engine does.
  int64_t done(int64_t request, const char* what) {
    if (good(request, what) == 0) {
      return 0;
    }
    for (bool asks = request % 64 == 0; asks && good(jccl_mpi_test(handle, request), what) == 0;) {
      std::this_thread::yield();
    }
    return good(jccl_mpi_await(handle, request), what);
  }

  const int rank;
  const int size;
  int64_t handle;
};

// Whether ranks compare what they do, and which way a message goes, is asked before any memory is touched.
void largestCounts() {
  constexpr int64_t kMost = INT64_MAX / 8;
  for (int what = jccl::kBroadcast; what <= jccl::kAllToAll; what++) {
    const std::vector<int64_t> counts(4, kMost);
    const jccl::Call call{
        static_cast<jccl::OperationKind>(what), nullptr, nullptr, kMost, jccl::kInt64, 0, 0, 0, counts.data(), counts.data()};
    if (jccl::bytesOf(call, 4) < kMost || !jccl::isLong(kMost, jccl::kInt64)) {
      die("operation " + std::to_string(what) + " of very many elements is taken for a short one");
    }
  }
}

void rootedCollectives(Group& g, int64_t count, int root) {
  const int mine = g.rank + 1;
  Elements data(count, mine);
  good(jccl_mpi_broadcast(g.handle, data.address(), count, kInt32, root), "broadcast");
  data.expect(root + 1, "broadcast");
  Elements input(count, mine);
  Elements output(count);
  good(
      jccl_mpi_reduce(g.handle, input.address(), output.address(), count, kInt32, jccl::kMax, 1, root), "reduce");
  output.expect(g.rank == root ? g.size : 0, "reduce");
  Elements all(count * g.size, mine);
  good(jccl_mpi_gather(g.handle, input.address(), all.address(), count, kInt32, root), "gather");
  good(jccl_mpi_scatter(g.handle, all.address(), output.address(), count, kInt32, root), "scatter");
  output.expect(mine, "gather and scatter");
}

void symmetricCollectives(Group& g, int64_t count) {
  const int sum = g.size * (g.size + 1) / 2;
  const std::vector<int64_t> counts(static_cast<size_t>(g.size), count);
  Elements one(count, g.rank + 1);
  good(
      jccl_mpi_all_reduce(g.handle, one.address(), one.address(), count, kInt32, jccl::kSum, 1), "all_reduce");
  one.expect(sum, "all_reduce");
  Elements whole(count * g.size, g.rank + 1);
  Elements other(count * g.size);
  Elements part(count);
  good(
      jccl_mpi_reduce_scatter(g.handle, whole.address(), part.address(), count, kInt32, jccl::kBor, 1),
      "reduce_scatter");
  good(
      jccl_mpi_reduce_scatter_v(
          g.handle, whole.address(), part.address(), counts.data(), kInt32, jccl::kSum, 1),
      "reduce_scatter_v");
  part.expect(sum, "reduce_scatter_v");
  good(jccl_mpi_all_gather(g.handle, part.address(), other.address(), count, kInt32), "all_gather");
  other.expect(sum, "all_gather");
  good(jccl_mpi_all_gather_v(g.handle, part.address(), whole.address(), counts.data(), kInt32), "all_gather_v");
  whole.expect(sum, "all_gather_v");
  Elements again(count * g.size);
  good(jccl_mpi_all_to_all(g.handle, other.address(), again.address(), count, kInt32), "all_to_all");
  again.expect(sum, "all_to_all");
  good(
      jccl_mpi_all_to_all_v(g.handle, again.address(), whole.address(), counts.data(), counts.data(), kInt32),
      "all_to_all_v");
  whole.expect(sum, "all_to_all_v");
  good(jccl_mpi_barrier(g.handle), "barrier");
}

// An average is divided, and scaled input kept, by the shim itself.
void averages(Group& g, int64_t count) {
  constexpr int32_t kTwo = 0x40000000;  // the bits of 2.0f, whose average it is too
  Elements in(count * g.size, kTwo);
  Elements out(count);
  good(
      jccl_mpi_all_reduce(g.handle, in.address(), out.address(), count, jccl::kFloat32, jccl::kAvg, 1), "average");
  out.expect(kTwo, "average");
  good(
      jccl_mpi_reduce_scatter(
          g.handle, in.address(), out.address(), count, jccl::kFloat32, jccl::kPremulSum, 1.0 / g.size),
      "scaled sum");
  out.expect(kTwo, "scaled sum");
}

// Each element must end at its place. Enough for one piece and for several, and for parts of different sizes.
void places(Group& g) {
  for (const int64_t count : {1, 2, 1001, 3001, 20001, 100003}) {
    Elements data(count);
    data.number(g.rank);
    good(
        jccl_mpi_all_reduce(g.handle, data.address(), data.address(), count, kInt32, jccl::kSum, 1), "all_reduce");
    data.expectSums(0, g.size, 0, "all_reduce");
    for (int root = 0; root < g.size; root++) {
      data.number(g.rank);
      good(
          jccl_mpi_reduce(g.handle, data.address(), data.address(), count, kInt32, jccl::kSum, 1, root), "reduce");
      g.rank == root ? data.expectSums(0, g.size, 0, "reduce")
                     : data.expectSums(g.rank, g.rank + 1, 0, "input of reduce");
    }
    Elements whole(count * g.size);
    whole.number(g.rank);
    good(
        jccl_mpi_reduce_scatter(g.handle, whole.address(), data.address(), count, kInt32, jccl::kSum, 1),
        "reduce_scatter");
    data.expectSums(0, g.size, g.rank * count, "reduce_scatter");
    whole.expectSums(g.rank, g.rank + 1, 0, "input of reduce_scatter");
    Elements other(count * g.size);
    good(jccl_mpi_all_to_all(g.handle, whole.address(), other.address(), count, kInt32), "all_to_all");
    for (int from = 0; from < g.size; from++) {
      other.part(from * count, count).expectSums(from, from + 1, g.rank * count, "all_to_all");
    }
    data.number(g.rank);
    good(jccl_mpi_all_gather(g.handle, data.address(), other.address(), count, kInt32), "all_gather");
    for (int from = 0; from < g.size; from++) {
      other.part(from * count, count).expectSums(from, from + 1, 0, "all_gather");
    }
  }
}

// The sum of floats must have the same bits everywhere.
void sameBits(Group& g, int64_t count) {
  Elements mine(count);
  Elements first(count);
  mine.fillWithFloats(g.rank);
  good(
      jccl_mpi_all_reduce(
          g.handle, mine.address(), mine.address(), count, jccl::kFloat32, jccl::kSum, 1),
      "all_reduce");
  first.copyFrom(mine);
  good(jccl_mpi_broadcast(g.handle, first.address(), count, kInt32, 0), "broadcast");
  if (!mine.equals(first)) {
    die("a sum has other bits than on rank 0");
  }
}

void collectives(Group& g) {
  for (const int64_t count : {1, 700, 5000}) {
    symmetricCollectives(g, count);
    averages(g, count);
    sameBits(g, count);
    for (int root = 0; root < g.size; root++) {
      rootedCollectives(g, count, root);
    }
  }
}

// Each rank sends to the next and receives from any, or from the one before.
void messages(Group& g, int rounds) {
  const int next = (g.rank + 1) % g.size;
  const int previous = (g.rank + g.size - 1) % g.size;
  for (int round = 0; round < rounds; round++) {
    const int64_t count = round % 5 == 0 ? 20000 : 10;
    Elements out(count, round);
    Elements in(count);
    const int64_t received = jccl_mpi_recv(
        g.handle, in.address(), count, kInt32, round % 3 == 0 ? -1 : previous, round);
    const int64_t sent = jccl_mpi_send(g.handle, out.address(), count, kInt32, next, round);
    if (g.done(received, "recv") != previous + 1) {
      die("recv: another sender");
    }
    g.done(sent, "send");
    in.expect(round, "message");
  }
}

void everything(Group& g) {
  std::thread beside([&] { messages(g, 30); });
  collectives(g);
  places(g);
  sameBits(g, 100003);
  beside.join();
}

// A rank's group is aborted while it waits for a message that never comes.
void endSuddenly(int tag) {
  Group g(tag);
  Elements in(10);
  std::atomic<bool> waits{false};
  std::thread aborts([&] {
    while (!waits) {
      std::this_thread::yield();
    }
    jccl_mpi_abort(g.handle);
  });
  const int64_t request =
      good(jccl_mpi_recv(g.handle, in.address(), 10, kInt32, -1, 7), "recv");
  waits = true;
  if (jccl_mpi_await(g.handle, request) != -jccl::kAborted) {
    die("an aborted receive did not say so");
  }
  aborts.join();
  if (jccl_mpi_barrier(g.handle) != -jccl::kAborted) {
    die("an aborted group went on");
  }
}

}  // namespace

// Plugins that are unloaded would be addresses without a name to the leak detection.
extern "C" int dlclose(void*) { return 0; }

int main(int, char** arguments) {
  const std::string variant = arguments[1];
  largestCounts();
  good(jccl_mpi_init(4), "init");
  if (variant == "parts") {
    jccl_mpi_set_largest_call(3000);
  }
  if (variant == "progress") {
    good(jccl_mpi_start_progress(), "start_progress");
  }
  // As the engine's watchdog does.
  std::atomic<bool> ended{false};
  std::thread watchdog([&] {
    while (!ended) {
      good(jccl_mpi_progress(), "progress");
      usleep(1000);
    }
  });
  int tag = 0;
  {
    Group plain(tag++);
    everything(plain);
    Group checked(tag++, true);
    everything(checked);
    Group trusted(tag++, false, true);
    everything(trusted);
  }
  for (int i = 0; i < 20; i++) {
    Group g(tag++);
    symmetricCollectives(g, 100);
  }
  for (int i = 0; i < 5; i++) {
    endSuddenly(tag++);
  }
  ended = true;
  watchdog.join();
  jccl_mpi_exit();
  std::puts("ok");
  return 0;
}
