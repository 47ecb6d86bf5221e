// The flat boundary to Java. Each function is one call of the library whose name it has, and returns that call's code.
// Handles and addresses are numbers. Functions that return something else too return the negative of a code that is not 0.
// The libraries are opened first; nothing else may be called before that.
#pragma once

#include <cstdint>

#define JCCL_NCCL_CALL extern "C" __attribute__((visibility("hidden")))

// --- Libraries

// Opens a file, and returns 1, or 0 with jccl_nccl_text telling why not. With present not 0 only a library of that
// name that the process has already is taken.
JCCL_NCCL_CALL int jccl_nccl_open_driver(const char* file) noexcept;
JCCL_NCCL_CALL int jccl_nccl_open_runtime(const char* file, int present) noexcept;
JCCL_NCCL_CALL int jccl_nccl_open_nccl(const char* file, int present) noexcept;

// The file of the library that this thread opened last, or why it could not be.
JCCL_NCCL_CALL const char* jccl_nccl_text() noexcept;

// 1 when NCCL has a function of this name.
JCCL_NCCL_CALL int jccl_nccl_has(const char* function) noexcept;

// --- Memory that NCCL writes to or reads after a call has returned

// 8 zeroed bytes for a handle, or 0 when there is no memory.
JCCL_NCCL_CALL int64_t jccl_nccl_new_cell() noexcept;
JCCL_NCCL_CALL int64_t jccl_nccl_cell(int64_t cell) noexcept;
JCCL_NCCL_CALL void jccl_nccl_free_cell(int64_t cell) noexcept;

// An ncclConfig_t. What is INT_MIN is left to NCCL; the names may be null. Returns 0 when there is no memory.
JCCL_NCCL_CALL int64_t jccl_nccl_new_config(
    int blocking, int cga_cluster_size, int min_ctas, int max_ctas, int split_share, int traffic_class,
    int collnet, int cta_policy, int nvls_ctas, const char* network, const char* name) noexcept;
JCCL_NCCL_CALL void jccl_nccl_free_config(int64_t config) noexcept;

// --- CUDA

JCCL_NCCL_CALL const char* jccl_cuda_error_name(int code) noexcept;
JCCL_NCCL_CALL const char* jccl_cuda_error_string(int code) noexcept;
JCCL_NCCL_CALL int jccl_cuda_get_last_error() noexcept;

// Each returns the number, or the negative of a code.
JCCL_NCCL_CALL int jccl_cuda_driver_version() noexcept;
JCCL_NCCL_CALL int jccl_cuda_runtime_version() noexcept;
JCCL_NCCL_CALL int jccl_cuda_device_count() noexcept;
JCCL_NCCL_CALL int jccl_cuda_compute_capability_major(int device) noexcept;

JCCL_NCCL_CALL int jccl_cuda_set_device(int device) noexcept;
JCCL_NCCL_CALL int jccl_cuda_device_synchronize() noexcept;

// A stream that does not wait for the default stream. Returns the handle, or the negative of a code.
JCCL_NCCL_CALL int64_t jccl_cuda_stream_create(int high_priority) noexcept;
JCCL_NCCL_CALL int jccl_cuda_stream_destroy(int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_cuda_stream_query(int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_cuda_stream_synchronize(int64_t stream) noexcept;
// 1 while it captures or its capture was invalidated, else 0, or the negative of a code.
JCCL_NCCL_CALL int jccl_cuda_stream_is_capturing(int64_t stream) noexcept;
// 1 when the stream waits for the default stream, else 0, or the negative of a code.
JCCL_NCCL_CALL int jccl_cuda_stream_waits_for_default(int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_cuda_stream_wait_event(int64_t stream, int64_t event) noexcept;

// Returns the handle, or the negative of a code.
JCCL_NCCL_CALL int64_t jccl_cuda_event_create(int timing) noexcept;
JCCL_NCCL_CALL int jccl_cuda_event_destroy(int64_t event) noexcept;
JCCL_NCCL_CALL int jccl_cuda_event_record(int64_t event, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_cuda_event_query(int64_t event) noexcept;
JCCL_NCCL_CALL int jccl_cuda_event_synchronize(int64_t event) noexcept;
JCCL_NCCL_CALL int jccl_cuda_event_elapsed(float* millis, int64_t start, int64_t end) noexcept;

// Each returns the address, or the negative of a code. Memory of the host serves all devices.
JCCL_NCCL_CALL int64_t jccl_cuda_malloc(int64_t bytes) noexcept;
JCCL_NCCL_CALL int64_t jccl_cuda_host_alloc(int64_t bytes) noexcept;
JCCL_NCCL_CALL int jccl_cuda_free(int64_t address) noexcept;
JCCL_NCCL_CALL int jccl_cuda_free_host(int64_t address) noexcept;
// kind is a cudaMemcpyKind.
JCCL_NCCL_CALL int jccl_cuda_memcpy_async(int64_t to, int64_t from, int64_t bytes, int kind, int64_t stream) noexcept;

// Has the calling thread mind its own captures only.
JCCL_NCCL_CALL int jccl_cuda_ignore_captures_of_other_threads() noexcept;

// --- NCCL

JCCL_NCCL_CALL const char* jccl_nccl_error_string(int code) noexcept;
// communicator may be 0.
JCCL_NCCL_CALL const char* jccl_nccl_last_error(int64_t communicator) noexcept;
// The number, or the negative of a code.
JCCL_NCCL_CALL int jccl_nccl_version() noexcept;

// id has 128 bytes.
JCCL_NCCL_CALL int jccl_nccl_get_unique_id(signed char* id) noexcept;
// The cell receives the communicator, maybe after the call has returned. ids has 128 bytes for each of count ids. More than
// one need ncclCommInitRankScalable.
JCCL_NCCL_CALL int jccl_nccl_comm_init(
    int64_t cell, int size, const signed char* ids, int count, int rank, int64_t config) noexcept;
// The cell receives the communicator, maybe after the call has returned.
JCCL_NCCL_CALL int jccl_nccl_comm_split(
    int64_t communicator, int color, int key, int64_t cell, int64_t config) noexcept;
JCCL_NCCL_CALL int jccl_nccl_comm_finalize(int64_t communicator) noexcept;
JCCL_NCCL_CALL int jccl_nccl_comm_destroy(int64_t communicator) noexcept;
JCCL_NCCL_CALL int jccl_nccl_comm_abort(int64_t communicator) noexcept;
JCCL_NCCL_CALL int jccl_nccl_comm_revoke(int64_t communicator) noexcept;
// The state of the communicator, or the code of the call itself where that is not 0.
// Writes a handle to the cell, which stays 0 if NCCL does not use such memory here. A window is registered by all ranks.
JCCL_NCCL_CALL int jccl_nccl_register(
    int64_t communicator, int64_t memory, int64_t bytes, int window, int64_t cell) noexcept;
JCCL_NCCL_CALL int jccl_nccl_deregister(int64_t communicator, int window, int64_t handle) noexcept;
JCCL_NCCL_CALL int jccl_nccl_comm_async_error(int64_t communicator) noexcept;

// The cell receives the operation; bits are those of the factor.
JCCL_NCCL_CALL int jccl_nccl_premul_sum_create(int64_t cell, int64_t bits, int type, int64_t communicator) noexcept;
JCCL_NCCL_CALL int jccl_nccl_red_op_destroy(int operation, int64_t communicator) noexcept;

JCCL_NCCL_CALL int jccl_nccl_group_start() noexcept;
JCCL_NCCL_CALL int jccl_nccl_group_end() noexcept;

JCCL_NCCL_CALL int jccl_nccl_broadcast(
    int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_all_reduce(
    int64_t in, int64_t out, int64_t count, int type, int operation, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_reduce(
    int64_t in, int64_t out, int64_t count, int type, int operation, int root, int64_t communicator,
    int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_reduce_scatter(
    int64_t in, int64_t out, int64_t count, int type, int operation, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_all_gather(
    int64_t in, int64_t out, int64_t count, int type, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_send(
    int64_t in, int64_t count, int type, int peer, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_recv(
    int64_t out, int64_t count, int type, int peer, int64_t communicator, int64_t stream) noexcept;

// Only where jccl_nccl_has says that the library has the function.
JCCL_NCCL_CALL int jccl_nccl_gather(
    int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_scatter(
    int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator, int64_t stream) noexcept;
JCCL_NCCL_CALL int jccl_nccl_all_to_all(
    int64_t in, int64_t out, int64_t count, int type, int64_t communicator, int64_t stream) noexcept;
// The address, or the negative of a code.
JCCL_NCCL_CALL int64_t jccl_nccl_mem_alloc(int64_t bytes) noexcept;
JCCL_NCCL_CALL int jccl_nccl_mem_free(int64_t address) noexcept;
