// For tests, loaded before an MPI library: calls of MPI_Comm_set_errhandler fail from the one numbered FAIL_ERRHANDLER_FROM
// on, up to the one before FAIL_ERRHANDLER_TO, and MPI_Cancel, MPI_Comm_dup, MPI_Comm_free and MPI_Comm_rank fail where
// FAIL_CANCEL, FAIL_COMM_DUP, FAIL_COMM_FREE and FAIL_COMM_RANK are set. TAKEN_COMMUNICATORS of them exist before the first
// group is made. Calls of MPI_Allreduce and MPI_Isend of as many elements as STUCK_ALLREDUCE and STUCK_ISEND say never return.
// Handles are as wide as a register in every family, or narrower.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr int kOther = 16;  // whatever it means

std::atomic<int> handlers{0};

int numberOf(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

void stickIf(const char* variable, int count) {
  while (count != 0 && numberOf(variable) == count) {
    pause();
  }
}

template <typename Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int MPI_Comm_set_errhandler(void* comm, void* handler) {
  const int number = handlers++;
  if (number == 1) {
    // The second one is MPI_COMM_SELF. A copy of it takes an identity without a message to another rank.
    for (int taken = numberOf("TAKEN_COMMUNICATORS"); taken > 0; taken--) {
      void* made = nullptr;
      original<int(void*, void*)>("PMPI_Comm_dup")(comm, &made);
    }
  }
  if (number >= numberOf("FAIL_ERRHANDLER_FROM") && number < numberOf("FAIL_ERRHANDLER_TO")) {
    return kOther;
  }
  return original<int(void*, void*)>("PMPI_Comm_set_errhandler")(comm, handler);
}

__attribute__((visibility("default"))) int MPI_Allreduce(
    const void* in, void* out, int count, void* type, void* op, void* comm) {
  stickIf("STUCK_ALLREDUCE", count);
  return original<int(const void*, void*, int, void*, void*, void*)>("PMPI_Allreduce")(in, out, count, type, op, comm);
}

__attribute__((visibility("default"))) int MPI_Isend(
    const void* data, int count, void* type, int peer, int tag, void* comm, void* request) {
  stickIf("STUCK_ISEND", count);
  return original<int(const void*, int, void*, int, int, void*, void*)>("PMPI_Isend")(
      data, count, type, peer, tag, comm, request);
}

__attribute__((visibility("default"))) int MPI_Comm_dup(void* comm, void* made) {
  return numberOf("FAIL_COMM_DUP") != 0 ? kOther : original<int(void*, void*)>("PMPI_Comm_dup")(comm, made);
}

__attribute__((visibility("default"))) int MPI_Cancel(void* request) {
  return numberOf("FAIL_CANCEL") != 0 ? kOther : original<int(void*)>("PMPI_Cancel")(request);
}

__attribute__((visibility("default"))) int MPI_Comm_free(void* comm) {
  return numberOf("FAIL_COMM_FREE") != 0 ? kOther : original<int(void*)>("PMPI_Comm_free")(comm);
}

__attribute__((visibility("default"))) int MPI_Comm_rank(void* comm, int* rank) {
  return numberOf("FAIL_COMM_RANK") != 0 ? kOther : original<int(void*, int*)>("PMPI_Comm_rank")(comm, rank);
}
}
