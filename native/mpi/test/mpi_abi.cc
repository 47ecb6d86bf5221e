// A libmpi_abi.so.1 for tests, since Debian 12 has none: takes the calls that the shim makes in the standard ABI and hands
// them on to Debian's MPICH. What it does not know it ends the process with, a wrong constant too. Numbers on the side of
// the ABI are written out here, so that they are not those of ../standard_abi/mpi.h.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Tests also want a library whose ABI nobody knows yet.
#ifndef ABI_MAJOR
#define ABI_MAJOR 1
#endif

namespace {

[[noreturn]] void fail(const char* what, int64_t value) {
  std::fprintf(stderr, "test libmpi_abi: unknown %s 0x%llx\n", what, static_cast<unsigned long long>(value));
  std::abort();
}

// Its symbols stay its own: they have the names of ours.
void* function(const char* name) {
  static void* library = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "test libmpi_abi: %s\n", dlerror());
    std::abort();
  }
  return found;
}

template <typename... Arguments>
int mpich(const char* name, Arguments... arguments) {
  return reinterpret_cast<int (*)(Arguments...)>(function(name))(arguments...);
}

struct Pair {
  int abi;
  int mpich;
};

constexpr Pair kHandles[] = {
    {0x021, 0x58000003},  // operations: sum, min, max, prod, band, bor, bxor
    {0x022, 0x58000002},
    {0x023, 0x58000001},
    {0x024, 0x58000004},
    {0x028, 0x58000006},
    {0x029, 0x58000008},
    {0x02a, 0x5800000a},
    {0x100, 0x04000000},  // communicators: null, world, self
    {0x101, 0x44000000},
    {0x102, 0x44000001},
    {0x143, 0x54000001},  // errors return
    {0x180, 0x2c000000},  // request null
    {0x210, 0x4c00040a},  // types: float, double
    {0x214, 0x4c00080b},
    {0x240, 0x4c000137},  // int8, uint8, byte
    {0x241, 0x4c00013b},
    {0x247, 0x4c00010d},
    {0x248, 0x4c000238},  // int16, uint16
    {0x249, 0x4c00023c},
    {0x250, 0x4c000439},  // int32
    {0x258, 0x4c00083a},  // int64, uint64
    {0x259, 0x4c00083e},
};

constexpr int kPredefined = 0x1000;

int in(const void* handle) {
  const auto value = reinterpret_cast<intptr_t>(handle);
  if (value >= kPredefined) {
    return static_cast<int>(value);
  }
  for (const Pair& each : kHandles) {
    if (each.abi == value) {
      return each.mpich;
    }
  }
  fail("handle", value);
}

template <typename Handle>
Handle out(int handle) {
  for (const Pair& each : kHandles) {
    if (each.mpich == handle) {
      return reinterpret_cast<Handle>(static_cast<intptr_t>(each.abi));
    }
  }
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(static_cast<unsigned>(handle)));
}

// A handle that MPICH makes, changes or takes away.
template <typename Handle>
class Changed {
 public:
  explicit Changed(Handle* handle, bool given) : handle_(handle), mpich_(given ? in(*handle) : 0) {}
  ~Changed() { *handle_ = out<Handle>(mpich_); }
  Changed(const Changed&) = delete;

  int* get() { return &mpich_; }

 private:
  Handle* handle_;
  int mpich_;
};

template <typename Handle>
Changed<Handle> made(Handle* handle) { return Changed<Handle>(handle, false); }

template <typename Handle>
Changed<Handle> changed(Handle* handle) { return Changed<Handle>(handle, true); }

std::vector<int> all(const MPI_Datatype* types, int count) {
  std::vector<int> result;
  for (int i = 0; i < count; i++) {
    result.push_back(in(types[i]));
  }
  return result;
}

const void* buffer(const void* address) {
  return reinterpret_cast<intptr_t>(address) == 1 ? reinterpret_cast<void*>(intptr_t{-1}) : address;  // in place
}

void* buffer(void* address) { return const_cast<void*>(buffer(static_cast<const void*>(address))); }

int peerIn(int rank) {
  if (rank < -1) {
    fail("rank", rank);
  }
  return rank == -1 ? -2 : rank;  // any source
}

int peerOut(int rank) { return rank == -2 ? -1 : rank == -1 ? -3 : rank; }

struct MpichStatus {
  int countLow, countHigh, source, tag, error;
};

// A status that MPICH fills, or ignores.
class Filled {
 public:
  explicit Filled(MPI_Status* status) : status_(status) {}
  ~Filled() {
    if (status_ != nullptr) {
      *status_ = {peerOut(mpich_.source), mpich_.tag, mpich_.error, {mpich_.countLow, mpich_.countHigh, 0, 0, 0}};
    }
  }
  Filled(const Filled&) = delete;

  MpichStatus* get() {
    return status_ == nullptr ? reinterpret_cast<MpichStatus*>(intptr_t{1}) : &mpich_;
  }

 private:
  MPI_Status* status_;
  MpichStatus mpich_ = {};
};

int sizeOf(MPI_Comm comm) {
  int size = 0;
  mpich("MPI_Comm_size", in(comm), &size);
  return size;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int MPI_Abi_get_version(int* major, int* minor) {
  *major = ABI_MAJOR;
  *minor = 0;
  return 0;
}

int MPI_Get_library_version(char* version, int* length) { return mpich("MPI_Get_library_version", version, length); }

// MPICH's MPI_THREAD_MULTIPLE.
#ifndef THREAD_LEVEL
#define THREAD_LEVEL 3
#endif

int MPI_Query_thread(int* provided) {
  const int code = mpich("MPI_Query_thread", provided);
  *provided *= 1024;
  *provided += *provided == 3072 ? 1024 : 0;
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (required != 4096) {
    fail("thread level", required);
  }
  const int code = mpich("MPI_Init_thread", argc, argv, THREAD_LEVEL, provided);
  return code == 0 ? MPI_Query_thread(provided) : code;
}

int MPI_Initialized(int* flag) { return mpich("MPI_Initialized", flag); }
int MPI_Finalize() { return mpich("MPI_Finalize"); }
int MPI_Finalized(int* flag) { return mpich("MPI_Finalized", flag); }
int MPI_Abort(MPI_Comm comm, int code) { return mpich("MPI_Abort", in(comm), code); }

int MPI_Error_class(int code, int* error_class) {
  constexpr int kClasses[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 18, 7};
  constexpr int kOther = 16;
  const int result = mpich("MPI_Error_class", code, error_class);
  *error_class = *error_class < 20 ? kClasses[*error_class] : kOther;
  return result;
}

int MPI_Error_string(int code, char* text, int* length) { return mpich("MPI_Error_string", code, text, length); }

int MPI_Comm_rank(MPI_Comm comm, int* rank) { return mpich("MPI_Comm_rank", in(comm), rank); }
int MPI_Comm_size(MPI_Comm comm, int* size) { return mpich("MPI_Comm_size", in(comm), size); }

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* result) {
  auto handle = made(result);
  return mpich("MPI_Comm_dup", in(comm), handle.get());
}

int MPI_Comm_free(MPI_Comm* comm) {
  auto handle = changed(comm);
  return mpich("MPI_Comm_free", handle.get());
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group* result) {
  auto handle = made(result);
  return mpich("MPI_Comm_group", in(comm), handle.get());
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* result) {
  auto handle = made(result);
  return mpich("MPI_Comm_create_group", in(comm), in(group), tag, handle.get());
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return mpich("MPI_Comm_set_errhandler", in(comm), in(handler));
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  if (key != 501) {
    fail("attribute", key);
  }
  return mpich("MPI_Comm_get_attr", in(comm), 0x64400001, value, found);  // largest tag
}

int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* result) {
  auto handle = made(result);
  return mpich("MPI_Group_incl", in(group), count, ranks, handle.get());
}

int MPI_Group_free(MPI_Group* group) {
  auto handle = changed(group);
  return mpich("MPI_Group_free", handle.get());
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* result) {
  auto handle = made(result);
  return mpich("MPI_Type_contiguous", count, in(type), handle.get());
}

int MPI_Type_create_hindexed(
    int count, const int* lengths, const MPI_Aint* places, MPI_Datatype type, MPI_Datatype* result) {
  auto handle = made(result);
  return mpich("MPI_Type_create_hindexed", count, lengths, places, in(type), handle.get());
}

int MPI_Type_create_struct(
    int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types, MPI_Datatype* result) {
  auto handle = made(result);
  const auto parts = all(types, count);
  return mpich("MPI_Type_create_struct", count, lengths, places, parts.data(), handle.get());
}

int MPI_Type_commit(MPI_Datatype* type) {
  auto handle = changed(type);
  return mpich("MPI_Type_commit", handle.get());
}

int MPI_Type_free(MPI_Datatype* type) {
  auto handle = changed(type);
  return mpich("MPI_Type_free", handle.get());
}

// The type that the function gets is MPICH's; the shim's functions do not look at it.
int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* result) {
  auto handle = made(result);
  return mpich("MPI_Op_create", function, commutes, handle.get());
}

int MPI_Op_free(MPI_Op* op) {
  auto handle = changed(op);
  return mpich("MPI_Op_free", handle.get());
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  auto handle = changed(request);
  Filled filled(status);
  return mpich("MPI_Test", handle.get(), done, filled.get());
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  auto handle = changed(request);
  Filled filled(status);
  return mpich("MPI_Wait", handle.get(), filled.get());
}

int MPI_Cancel(MPI_Request* request) {
  auto handle = changed(request);
  return mpich("MPI_Cancel", handle.get());
}

int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  const MpichStatus given = {
      status->MPI_internal[0], status->MPI_internal[1], status->MPI_SOURCE, status->MPI_TAG, status->MPI_ERROR};
  return mpich("MPI_Get_elements_x", &given, in(type), count);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status) {
  Filled filled(status);
  return mpich("MPI_Recv", data, count, in(type), peerIn(peer), tag, in(comm), filled.get());
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  auto handle = made(request);
  return mpich("MPI_Irecv", data, count, in(type), peerIn(peer), tag, in(comm), handle.get());
}

int MPI_Sendrecv(
    const void* data, int count, MPI_Datatype type, int to, int tag, void* result, int results, MPI_Datatype resultType,
    int from, int resultTag, MPI_Comm comm, MPI_Status* status) {
  Filled filled(status);
  return mpich(
      "MPI_Sendrecv", data, count, in(type), peerIn(to), tag, result, results, in(resultType), peerIn(from), resultTag,
      in(comm), filled.get());
}

int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  Filled filled(status);
  return mpich("MPI_Iprobe", peerIn(peer), tag, in(comm), found, filled.get());
}

int MPI_Improbe(int peer, int tag, MPI_Comm comm, int* found, MPI_Message* message, MPI_Status* status) {
  auto handle = made(message);
  Filled filled(status);
  return mpich("MPI_Improbe", peerIn(peer), tag, in(comm), found, handle.get(), filled.get());
}

int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  auto taken = changed(message);
  auto handle = made(request);
  return mpich("MPI_Imrecv", data, count, in(type), taken.get(), handle.get());
}

// What has no request, and what has one as its last argument.
#define LIST(...) __VA_ARGS__
#define BLOCKING(name, parameters, arguments) \
  int MPI_##name(LIST parameters, MPI_Comm comm) { return mpich("MPI_" #name, LIST arguments, in(comm)); }
#define STARTING(name, parameters, arguments)                                \
  int MPI_##name(LIST parameters, MPI_Comm comm, MPI_Request* request) {     \
    auto handle = made(request);                                             \
    return mpich("MPI_" #name, LIST arguments, in(comm), handle.get());      \
  }

STARTING(
    Isend, (const void* data, int count, MPI_Datatype type, int peer, int tag),
    (data, count, in(type), peerIn(peer), tag))
STARTING(
    Issend, (const void* data, int count, MPI_Datatype type, int peer, int tag),
    (data, count, in(type), peerIn(peer), tag))
BLOCKING(Bcast, (void* data, int count, MPI_Datatype type, int root), (data, count, in(type), root))
STARTING(Ibcast, (void* data, int count, MPI_Datatype type, int root), (data, count, in(type), root))
BLOCKING(
    Allreduce, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op),
    (buffer(from), to, count, in(type), in(op)))
STARTING(
    Iallreduce, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op),
    (buffer(from), to, count, in(type), in(op)))
BLOCKING(
    Reduce, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root),
    (buffer(from), to, count, in(type), in(op), root))
STARTING(
    Ireduce, (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root),
    (buffer(from), to, count, in(type), in(op), root))
BLOCKING(
    Reduce_scatter, (const void* from, void* to, const int* counts, MPI_Datatype type, MPI_Op op),
    (buffer(from), to, counts, in(type), in(op)))
BLOCKING(
    Reduce_scatter_block,
    (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op), (buffer(from), to, count, in(type), in(op)))
BLOCKING(
    Allgather,
    (const void* from, int count, MPI_Datatype type, void* to, int results, MPI_Datatype resultType),
    (buffer(from), count, in(type), to, results, in(resultType)))
BLOCKING(
    Allgatherv,
    (const void* from, int count, MPI_Datatype type, void* to, const int* results, const int* places,
     MPI_Datatype resultType),
    (buffer(from), count, in(type), to, results, places, in(resultType)))
BLOCKING(
    Gather,
    (const void* from, int count, MPI_Datatype type, void* to, int results, MPI_Datatype resultType, int root),
    (buffer(from), count, in(type), to, results, in(resultType), root))
BLOCKING(
    Gatherv,
    (const void* from, int count, MPI_Datatype type, void* to, const int* results, const int* places,
     MPI_Datatype resultType, int root),
    (buffer(from), count, in(type), to, results, places, in(resultType), root))
BLOCKING(
    Scatter,
    (const void* from, int count, MPI_Datatype type, void* to, int results, MPI_Datatype resultType, int root),
    (from, count, in(type), buffer(to), results, in(resultType), root))
BLOCKING(
    Scatterv,
    (const void* from, const int* counts, const int* places, MPI_Datatype type, void* to, int results,
     MPI_Datatype resultType, int root),
    (from, counts, places, in(type), buffer(to), results, in(resultType), root))
BLOCKING(
    Alltoall,
    (const void* from, int count, MPI_Datatype type, void* to, int results, MPI_Datatype resultType),
    (buffer(from), count, in(type), to, results, in(resultType)))

int MPI_Barrier(MPI_Comm comm) { return mpich("MPI_Barrier", in(comm)); }

int MPI_Alltoallw(
    const void* from, const int* counts, const int* places, const MPI_Datatype* types, void* to, const int* results,
    const int* resultPlaces, const MPI_Datatype* resultTypes, MPI_Comm comm) {
  const auto fromTypes = all(types, sizeOf(comm));
  const auto toTypes = all(resultTypes, sizeOf(comm));
  return mpich(
      "MPI_Alltoallw", buffer(from), counts, places, fromTypes.data(), to, results, resultPlaces, toTypes.data(),
      in(comm));
}

}  // extern "C"
#pragma GCC visibility pop
