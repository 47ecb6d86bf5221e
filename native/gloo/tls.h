// TLS 1.3 over a socket, with certificates on both sides, by the system's OpenSSL, which is loaded when it is first needed.
// gloo has classes for TLS, too. They are not used: when both sides of a connection send more than the sockets hold, both
// repeat their writes with the lock that reading needs, and never end. They also cannot serve the exchange's connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <sys/types.h>
#include <sys/uio.h>

namespace jccl {

// DER, which belongs to the caller.
struct Encoded {
  const unsigned char* bytes;
  long length;
};

// The certificates of a rank.
class TlsContext final {
 public:
  // Certificates follow each other; the first one is the key's. Throws if OpenSSL is missing or rejects them.
  TlsContext(const Encoded& certificates, const Encoded& key, const Encoded& authorities);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsChannel;
  void* const context_;
};

// What encrypts one connection. Not thread-safe. Does not own the socket, which is non-blocking.
class TlsChannel final {
 public:
  // Of the two sides, one accepts.
  TlsChannel(const TlsContext& context, int fd, bool accepts);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  // Advances the handshake. Returns 0 when it is complete, else the event of poll() to wait for. The accepting side then has
  // told the other one that its certificate is good. Throws if one side rejects the other.
  short handshake();

  // Like sendmsg, recv and recv with MSG_PEEK: -1 with EAGAIN, 0 at the end. A send that says EAGAIN must be repeated with the
  // same bytes, a part of which the socket may have. Nothing that has arrived is left where poll() does not see it once a call
  // says EAGAIN.
  ssize_t send(const iovec* pieces, int count);
  ssize_t receive(void* memory, size_t bytes) { return read(memory, bytes, false); }
  ssize_t peek(void* memory, size_t bytes) { return read(memory, bytes, true); }

  // Whether a send must be repeated.
  bool isSending() const { return taken_ > 0; }

 private:
  ssize_t read(void* memory, size_t bytes, bool peek);
  size_t encrypt(const iovec* pieces, int count);
  bool flush();
  ssize_t result(int returned);
  short awaited(int returned);

  void* const ssl_;
  const int fd_;
  const bool accepts_;
  void* encrypted_ = nullptr;  // OpenSSL's memory of what is to be sent
  size_t flushed_ = 0;         // bytes of it that the socket has
  size_t taken_ = 0;           // bytes that were encrypted for the send that must be repeated
  uint64_t ofThisKey_ = 0;     // bytes that were encrypted
  bool agreed_ = false;
  bool complete_ = false;
};

// A connection of two ranks. Whoever takes it over closes the descriptor.
struct Link {
  int fd = -1;
  std::unique_ptr<TlsChannel> tls;  // null if it is plain

  // As those of a channel.
  ssize_t send(const iovec* pieces, int count) const;
  ssize_t receive(const iovec* pieces, int count) const;
  ssize_t peek(void* memory, size_t bytes) const;
  bool isSending() const { return tls != nullptr && tls->isSending(); }
};

}  // namespace jccl
