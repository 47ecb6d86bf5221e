// The flat boundary to Java. Handles are numbers that are looked up, so a stale one is an error and not a crash, and a
// communicator lives as long as a call is inside it. Functions return a Status; jccl_gloo_message tells the reason.
// No exception leaves these functions.
#pragma once

#include <cstdint>

#define JCCL_GLOO_CALL extern "C" __attribute__((visibility("hidden")))

// "0.5.0"
JCCL_GLOO_CALL const char* jccl_gloo_version() noexcept;

// A communicator without connections, or -Status. Its operations have no deadline: the caller aborts it. With torch not 0,
// other ranks may be PyTorch's; all ranks of a group must agree. The timeout is how long the connections to those that have
// not left are kept after a close. A collective without them looks for messages busy_poll_nanos before its thread sleeps.
JCCL_GLOO_CALL int64_t jccl_gloo_create(
    int rank, int size, int64_t timeout_millis, int torch, int64_t busy_poll_nanos) noexcept;

// Encrypts all connections of a communicator that has none yet. Certificates are DER, one after the other; the first one is
// that of the key, which is DER too. Loads OpenSSL.
JCCL_GLOO_CALL int jccl_gloo_tls(
    int64_t handle, const signed char* certificates, int certificates_length, const signed char* key, int key_length,
    const signed char* authorities, int authorities_length) noexcept;

// Opens a port on a numeric address of this host, one for all peers. Peer r says first_number + r when it connects.
JCCL_GLOO_CALL int jccl_gloo_listen(int64_t handle, const char* address, int64_t first_number) noexcept;

// Where a peer must connect to. Returns the number of bytes written, or -Status.
JCCL_GLOO_CALL int jccl_gloo_address(int64_t handle, int peer, signed char* out, int capacity) noexcept;

// 1 if connect() need not wait for the peer, since it has called or is to be called. Otherwise 0 after the timeout, or -Status.
JCCL_GLOO_CALL int jccl_gloo_await_caller(
    int64_t handle, int peer, const signed char* address, int length, int64_t timeout_millis) noexcept;

// Connects to a peer that published this address for us.
JCCL_GLOO_CALL int jccl_gloo_connect(
    int64_t handle, int peer, const signed char* address, int length, int64_t timeout_millis) noexcept;

// A timeout of 0 is none.
JCCL_GLOO_CALL int jccl_gloo_barrier(int64_t handle, int64_t timeout_millis) noexcept;
JCCL_GLOO_CALL int jccl_gloo_broadcast(int64_t handle, int64_t data, int64_t count, int type, int root) noexcept;
JCCL_GLOO_CALL int jccl_gloo_all_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept;
JCCL_GLOO_CALL int jccl_gloo_reduce(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor, int root) noexcept;
JCCL_GLOO_CALL int jccl_gloo_all_gather(int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept;
// Counts are one number a rank.
JCCL_GLOO_CALL int jccl_gloo_all_gather_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type) noexcept;
JCCL_GLOO_CALL int jccl_gloo_gather(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept;
JCCL_GLOO_CALL int jccl_gloo_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int root) noexcept;
JCCL_GLOO_CALL int jccl_gloo_reduce_scatter(
    int64_t handle, int64_t in, int64_t out, int64_t count, int type, int kind, double factor) noexcept;
JCCL_GLOO_CALL int jccl_gloo_reduce_scatter_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* counts, int type, int kind, double factor) noexcept;
JCCL_GLOO_CALL int jccl_gloo_all_to_all(int64_t handle, int64_t in, int64_t out, int64_t count, int type) noexcept;
JCCL_GLOO_CALL int jccl_gloo_all_to_all_v(
    int64_t handle, int64_t in, int64_t out, const int64_t* in_counts, const int64_t* out_counts, int type) noexcept;

// Return a request above 0, or -Status. Peer -1 receives from any rank.
JCCL_GLOO_CALL int64_t jccl_gloo_send(
    int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept;
JCCL_GLOO_CALL int64_t jccl_gloo_recv(
    int64_t handle, int64_t data, int64_t count, int type, int peer, int tag) noexcept;
// 1 when jccl_gloo_await would return at once, 0 when not, or -Status.
JCCL_GLOO_CALL int jccl_gloo_test(int64_t handle, int64_t request) noexcept;
// The sender's rank plus 1 for a receive, 0 for a send, or -Status. Frees the request.
JCCL_GLOO_CALL int jccl_gloo_await(int64_t handle, int64_t request) noexcept;

// 1 if the connection to a peer has ended, else 0, also if there is no such communicator. Safe from any thread.
JCCL_GLOO_CALL int jccl_gloo_lost(int64_t handle, int peer) noexcept;

// Wakes the calls that are inside with kAborted and refuses later ones. Safe from any thread.
JCCL_GLOO_CALL void jccl_gloo_abort(int64_t handle) noexcept;

// Forgets the handle. What it stands for is freed when the last call that is inside returns.
JCCL_GLOO_CALL void jccl_gloo_close(int64_t handle) noexcept;

// Writes why the communicator failed, as UTF-8 without a zero at the end. Returns the number of bytes.
JCCL_GLOO_CALL int jccl_gloo_message(int64_t handle, signed char* out, int capacity) noexcept;
