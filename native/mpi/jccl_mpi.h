// The flat boundary to Java, compiled once for each family of MPI libraries. Functions return a Status, or a value that
// is negative when it is one; jccl_mpi_message tells the reason, on the thread that got it. No exception leaves them.
// A communicator is used by nobody when it is closed: the engine in Java sees to that.
#pragma once

#include <cstdint>

#define JCCL_MPI_CALL extern "C" __attribute__((visibility("hidden")))

// As the library tells it, on one line.
JCCL_MPI_CALL const char* jccl_mpi_version() noexcept;

// Initialises MPI, or uses it where it is initialised; asks for MPI_THREAD_MULTIPLE and accepts nothing less.
// local_ranks is the number of ranks on this host, 0 when unknown: it tells whether waiting must let others run.
// Returns 1 when it initialised, 0 when MPI was initialised before.
JCCL_MPI_CALL int jccl_mpi_init(int local_ranks) noexcept;

JCCL_MPI_CALL int jccl_mpi_world_rank() noexcept;
JCCL_MPI_CALL int jccl_mpi_world_size() noexcept;

// Copies rank 0's bytes to every process of MPI_COMM_WORLD.
JCCL_MPI_CALL int jccl_mpi_world_broadcast(signed char* bytes, int length, int64_t timeout_millis) noexcept;

// Starts the thread that moves what is under way, once in a process. Refused where somebody else initialised MPI, and so
// may finalise it at any time.
JCCL_MPI_CALL int jccl_mpi_start_progress() noexcept;

// Lets the library move what other ranks wait for, in a rank that has no operation. Does nothing where somebody else
// initialised MPI.
JCCL_MPI_CALL int jccl_mpi_progress() noexcept;

// The process exits: MPI_Finalize, where jccl_mpi_init initialised, all groups are closed, and the library has nothing in
// its hands. Otherwise that is decided when the exit code is known, which ends the job unless it is 0.
JCCL_MPI_CALL void jccl_mpi_exit() noexcept;

// Ends all processes of the job with this exit code, and does not return as a rule.
JCCL_MPI_CALL void jccl_mpi_end_job(int code) noexcept;

// Largest tag of a user's message.
JCCL_MPI_CALL int jccl_mpi_largest_tag() noexcept;

// 1 when the library takes the memory of CUDA devices, else 0.
JCCL_MPI_CALL int jccl_mpi_takes_cuda() noexcept;
// 1 when a reduction leaves the host out, and so is for the memory of devices.
JCCL_MPI_CALL int jccl_mpi_reduces_on_devices(int type, int kind) noexcept;

// For tests: has the ways of large tensors taken from this many bytes up. Before any operation, the same on all ranks.
JCCL_MPI_CALL void jccl_mpi_set_largest_call(int64_t bytes) noexcept;

// Forms a communicator of processes of MPI_COMM_WORLD; only they call it, with the same tag. With checked not 0, ranks
// compare what they are about to do; with trusted not 0, nobody looks whether messages fit; with on_device not 0, tensors
// are where the host cannot read them. Returns the handle.
JCCL_MPI_CALL int64_t jccl_mpi_create(
    const int* world_ranks, int size, int tag, int checked, int trusted, int on_device) noexcept;

// MPI_COMM_WORLD itself, for worlds with members that are not Java.
JCCL_MPI_CALL int64_t jccl_mpi_shared_world() noexcept;

// The largest tag of a message in a group; others are refused by the caller.
JCCL_MPI_CALL int jccl_mpi_largest_user_tag(int64_t handle) noexcept;

// Collectives, which block until they are complete and return a Status. One thread at a time makes them.
JCCL_MPI_CALL int jccl_mpi_barrier(int64_t handle) noexcept;
JCCL_MPI_CALL int jccl_mpi_broadcast(
    int64_t handle, int64_t data, int64_t count, int type, int root) noexcept;
JCCL_MPI_CALL int jccl_mpi_all_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept;
JCCL_MPI_CALL int jccl_mpi_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor, int root) noexcept;
JCCL_MPI_CALL int jccl_mpi_all_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept;
// Counts are one number a rank.
JCCL_MPI_CALL int jccl_mpi_all_gather_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type) noexcept;
JCCL_MPI_CALL int jccl_mpi_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept;
JCCL_MPI_CALL int jccl_mpi_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept;
JCCL_MPI_CALL int jccl_mpi_reduce_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept;
JCCL_MPI_CALL int jccl_mpi_reduce_scatter_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type, int kind, double factor) noexcept;
JCCL_MPI_CALL int jccl_mpi_all_to_all(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept;
JCCL_MPI_CALL int jccl_mpi_all_to_all_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* in_counts, const int64_t* out_counts, int type) noexcept;
// Messages. Each returns a request.
JCCL_MPI_CALL int64_t jccl_mpi_send(
    int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept;
// Peer -1 receives from any rank.
JCCL_MPI_CALL int64_t jccl_mpi_recv(
    int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept;

// 1 when jccl_mpi_await would return at once, 0 when not, or -Status.
JCCL_MPI_CALL int jccl_mpi_test(int64_t handle, int64_t request) noexcept;
// The sender's rank plus 1 for a receive, else 0, or -Status. Frees the request.
JCCL_MPI_CALL int jccl_mpi_await(int64_t handle, int64_t request) noexcept;

// 1 when an operation was given up that the library may still run, with its memory; else 0.
JCCL_MPI_CALL int jccl_mpi_abandoned(int64_t handle) noexcept;

// Wakes the calls that wait for messages and comparisons with kAborted and refuses later ones. Nothing ends a collective
// that is in the library's hands. Safe from any thread.
JCCL_MPI_CALL void jccl_mpi_abort(int64_t handle) noexcept;

// The library's communicator is freed later, when all members have closed and nothing of it is left; see retired.h.
JCCL_MPI_CALL int jccl_mpi_close(int64_t handle) noexcept;

// Writes why the last call of this thread failed, as UTF-8 without a zero at the end. Returns the number of bytes.
JCCL_MPI_CALL int jccl_mpi_message(signed char* out, int capacity) noexcept;
