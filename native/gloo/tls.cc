#include "tls.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include "failure.h"

namespace jccl {

namespace {

// The functions of libssl and libcrypto that are called, with the types that OpenSSL 1.1.1 and 3 share. Pointers to their
// structures are void*.
#define JCCL_OPENSSL(F)                                                  \
  F(int, OPENSSL_init_ssl, (uint64_t, const void*))                      \
  F(const void*, TLS_method, ())                                         \
  F(void*, SSL_CTX_new, (const void*))                                   \
  F(void, SSL_CTX_free, (void*))                                         \
  F(long, SSL_CTX_ctrl, (void*, int, long, void*))                       \
  F(uint64_t, SSL_CTX_set_options, (void*, uint64_t))                    \
  F(int, SSL_CTX_set_num_tickets, (void*, size_t))                       \
  F(int, SSL_CTX_set_ciphersuites, (void*, const char*))                 \
  F(void, SSL_CTX_set_default_read_buffer_len, (void*, size_t))          \
  F(void, SSL_CTX_set_verify, (void*, int, int (*)(int, void*)))         \
  F(int, SSL_CTX_use_certificate, (void*, void*))                        \
  F(int, SSL_CTX_use_PrivateKey, (void*, void*))                         \
  F(void*, SSL_CTX_get_cert_store, (const void*))                        \
  F(int, X509_STORE_add_cert, (void*, void*))                            \
  F(int, X509_STORE_set_flags, (void*, unsigned long))                   \
  F(void*, d2i_X509, (void**, const unsigned char**, long))              \
  F(void, X509_free, (void*))                                            \
  F(void*, d2i_AutoPrivateKey, (void**, const unsigned char**, long))    \
  F(void, EVP_PKEY_free, (void*))                                        \
  F(void*, SSL_new, (void*))                                             \
  F(void, SSL_free, (void*))                                             \
  F(void, SSL_set_bio, (void*, void*, void*))                            \
  F(void*, BIO_new_socket, (int, int))                                   \
  F(void*, BIO_new, (const void*))                                       \
  F(const void*, BIO_s_mem, ())                                          \
  F(long, BIO_ctrl, (void*, int, long, void*))                           \
  F(int, BIO_free, (void*))                                              \
  F(void, SSL_set_accept_state, (void*))                                 \
  F(void, SSL_set_connect_state, (void*))                                \
  F(int, SSL_do_handshake, (void*))                                      \
  F(int, SSL_get_error, (const void*, int))                              \
  F(int, SSL_read, (void*, void*, int))                                  \
  F(int, SSL_peek, (void*, void*, int))                                  \
  F(int, SSL_write, (void*, const void*, int))                           \
  F(int, SSL_key_update, (void*, int))                                   \
  F(long, SSL_get_verify_result, (const void*))                          \
  F(const char*, X509_verify_cert_error_string, (long))                  \
  F(void, ERR_clear_error, ())                                           \
  F(unsigned long, ERR_get_error, ())                                    \
  F(const char*, ERR_reason_error_string, (unsigned long))

struct OpenSsl {
#define JCCL_FIELD(result, name, arguments) result(*name) arguments;
  JCCL_OPENSSL(JCCL_FIELD)
#undef JCCL_FIELD
};

// Constants of OpenSSL's headers, the same in 1.1.1 and 3.
constexpr uint64_t kInitNoAtExit = 0x80000;
constexpr int kBioReset = 1;
constexpr int kBioContent = 3;
constexpr int kCtrlExtraChainCertificate = 14;
constexpr int kCtrlReadAhead = 41;
constexpr int kCtrlMinVersion = 123;
constexpr long kTls13 = 0x304;
constexpr uint64_t kOptionIgnoreUnexpectedEnd = 1 << 7;  // an end without a farewell, since 3.0; before, it was no error
constexpr unsigned long kStorePartialChain = 0x80000;
constexpr int kVerifyPeer = 1;
constexpr int kVerifyFailWithoutCertificate = 2;
constexpr int kErrorSsl = 1;
constexpr int kErrorWantRead = 2;
constexpr int kErrorEnd = 6;
constexpr int kKeyUpdateNotRequested = 0;

constexpr size_t kRecordBytes = 16384;
constexpr size_t kBatchBytes = 4 * kRecordBytes;  // that one call of the system moves
// The fastest one first, since the connecting side's order counts.
constexpr char kCiphers[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
// AES-GCM keys should not encrypt more than 2^24.5 records (RFC 8446, 5.5), which are 360 GiB at most.
constexpr uint64_t kBytesOfAKey = uint64_t{64} << 30;

OpenSsl load() {
  void* library = nullptr;
  std::string tried;
  for (const char* name : {"libssl.so.3", "libssl.so.1.1"}) {
    library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      break;
    }
    tried += std::string(tried.empty() ? "" : "; ") + ::dlerror();
  }
  if (library == nullptr) {
    throw Failure(kInvalid, "TLS needs OpenSSL 3 or 1.1.1, install libssl.so.3 or libssl.so.1.1: " + tried);
  }
  OpenSsl functions{};
  // libcrypto's functions are found too, since libssl needs that library.
#define JCCL_LOAD(result, name, arguments)                                          \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, #name)); \
  if (functions.name == nullptr) {                                                  \
    throw Failure(kInvalid, "this OpenSSL cannot be used for TLS: it has no " #name); \
  }
  JCCL_OPENSSL(JCCL_LOAD)
#undef JCCL_LOAD
  // Its clean-up at the end of the process would free what gloo's thread is using.
  if (functions.OPENSSL_init_ssl(kInitNoAtExit, nullptr) != 1) {
    throw Failure(kInternal, "TLS: OpenSSL cannot be initialised");
  }
  return functions;
}

const OpenSsl& openSsl() {
  static const OpenSsl functions = load();  // tried again if it throws
  return functions;
}

std::string reason() {
  const unsigned long error = openSsl().ERR_get_error();
  const char* text = error == 0 ? nullptr : openSsl().ERR_reason_error_string(error);
  return text == nullptr ? "unknown reason" : text;
}

void check(bool good, const char* what) {
  if (!good) {
    throw Failure(kInternal, std::string("TLS: OpenSSL ") + what + ": " + reason());
  }
}

// Frees what OpenSSL made.
class Owned final {
 public:
  Owned(void* made, void (*free)(void*)) : made_(made), free_(free) {}
  ~Owned() {
    if (made_ != nullptr) {
      free_(made_);
    }
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  void* get() const { return made_; }
  void release() { made_ = nullptr; }

 private:
  void* made_;
  void (*const free_)(void*);
};

template <typename Use>
void forEachCertificate(const Encoded& encoded, Use&& use) {
  const unsigned char* at = encoded.bytes;
  const unsigned char* const end = encoded.bytes + encoded.length;
  for (bool first = true; at < end; first = false) {
    Owned certificate(openSsl().d2i_X509(nullptr, &at, end - at), openSsl().X509_free);
    check(certificate.get() != nullptr, "cannot read a certificate");
    use(certificate, first);
  }
}

void* newContext() {
  openSsl().ERR_clear_error();
  void* made = openSsl().SSL_CTX_new(openSsl().TLS_method());
  check(made != nullptr, "cannot be initialised");
  return made;
}

}  // namespace

TlsContext::TlsContext(const Encoded& certificates, const Encoded& key, const Encoded& authorities)
    : context_(newContext()) {
  const OpenSsl& ssl = openSsl();
  Owned owned(context_, ssl.SSL_CTX_free);
  check(ssl.SSL_CTX_ctrl(context_, kCtrlMinVersion, kTls13, nullptr) == 1, "has no TLS 1.3");
  ssl.SSL_CTX_ctrl(context_, kCtrlReadAhead, 1, nullptr);
  ssl.SSL_CTX_set_default_read_buffer_len(context_, kBatchBytes);
  check(ssl.SSL_CTX_set_ciphersuites(context_, kCiphers) == 1, "has no AES");
  ssl.SSL_CTX_set_options(context_, kOptionIgnoreUnexpectedEnd);
  check(ssl.SSL_CTX_set_num_tickets(context_, 0) == 1, "cannot do without session tickets");
  ssl.SSL_CTX_set_verify(context_, kVerifyPeer | kVerifyFailWithoutCertificate, nullptr);

  forEachCertificate(certificates, [&](Owned& certificate, bool first) {
    if (first) {
      check(ssl.SSL_CTX_use_certificate(context_, certificate.get()) == 1, "rejects the certificate");
    } else {
      check(
          ssl.SSL_CTX_ctrl(context_, kCtrlExtraChainCertificate, 0, certificate.get()) == 1,
          "rejects an intermediate certificate");
      certificate.release();
    }
  });
  const unsigned char* at = key.bytes;
  Owned own(ssl.d2i_AutoPrivateKey(nullptr, &at, key.length), ssl.EVP_PKEY_free);
  check(own.get() != nullptr, "cannot read the private key");
  check(ssl.SSL_CTX_use_PrivateKey(context_, own.get()) == 1, "rejects the private key");

  void* const trusted = ssl.SSL_CTX_get_cert_store(context_);
  // An authority need not be signed by itself, as for Java.
  check(ssl.X509_STORE_set_flags(trusted, kStorePartialChain) == 1, "has no partial chains");
  forEachCertificate(authorities, [&](Owned& certificate, bool) {
    check(ssl.X509_STORE_add_cert(trusted, certificate.get()) == 1, "rejects the certificate of an authority");
  });
  owned.release();
}

TlsContext::~TlsContext() { openSsl().SSL_CTX_free(context_); }

TlsChannel::TlsChannel(const TlsContext& context, int fd, bool accepts)
    : ssl_(openSsl().SSL_new(context.context_)), fd_(fd), accepts_(accepts) {
  void* const socket = openSsl().BIO_new_socket(fd, 0);
  encrypted_ = openSsl().BIO_new(openSsl().BIO_s_mem());
  if (ssl_ == nullptr || socket == nullptr || encrypted_ == nullptr) {
    openSsl().BIO_free(encrypted_);
    openSsl().BIO_free(socket);
    openSsl().SSL_free(ssl_);
    throw Failure(kInternal, "TLS: OpenSSL has no memory for a connection");
  }
  openSsl().SSL_set_bio(ssl_, socket, encrypted_);
  if (accepts) {
    openSsl().SSL_set_accept_state(ssl_);
  } else {
    openSsl().SSL_set_connect_state(ssl_);
  }
}

TlsChannel::~TlsChannel() { openSsl().SSL_free(ssl_); }

short TlsChannel::handshake() {
  if (!agreed_) {
    openSsl().ERR_clear_error();
    errno = 0;
    const int returned = openSsl().SSL_do_handshake(ssl_);
    const int error = errno;
    if (!flush() && errno == EAGAIN) {
      return POLLOUT;
    }
    if (returned != 1) {
      errno = error;
      return awaited(returned);
    }
    agreed_ = true;
  }
  if (!complete_) {
    // The connecting side believes that it is done before the other one has looked at its certificate. It must not send
    // before it knows: a rejection could be lost with the connection.
    char accepted = 1;
    const iovec piece{&accepted, 1};
    const ssize_t moved = accepts_ ? send(&piece, 1) : receive(&accepted, 1);
    if (moved != 1) {
      return awaited(static_cast<int>(moved));
    }
    complete_ = true;
  }
  return 0;
}

// The event that a handshake waits for, or why it has failed.
short TlsChannel::awaited(int returned) {
  const int system = errno;
  const int error = openSsl().SSL_get_error(ssl_, returned);
  if (error == kErrorWantRead) {
    return POLLIN;
  }
  const std::string advice =
      "; each rank needs a certificate that is valid now and signed by an authority that the other ranks trust"
      " (--tls-ca)";
  const long verdict = openSsl().SSL_get_verify_result(ssl_);
  if (error == kErrorSsl && verdict != 0) {
    throw Failure(
        kInvalid, std::string("TLS: the certificate of that rank is rejected: ") +
                      openSsl().X509_verify_cert_error_string(verdict) + advice);
  }
  if (error == kErrorSsl) {
    throw Failure(kInvalid, "TLS: the handshake failed: " + reason() + advice);
  }
  throw Failure(
      kPeerLost, "TLS: the connection was closed in the handshake" +
                     std::string(system == 0 || error == kErrorEnd ? "" : std::string(": ") + std::strerror(system)));
}

ssize_t TlsChannel::send(const iovec* pieces, int count) {
  if (taken_ == 0) {
    taken_ = encrypt(pieces, count);
  }
  return flush() ? static_cast<ssize_t>(std::exchange(taken_, 0)) : -1;
}

// Encrypts a batch. Returns the number of bytes.
size_t TlsChannel::encrypt(const iovec* pieces, int count) {
  openSsl().ERR_clear_error();
  if (ofThisKey_ >= kBytesOfAKey) {
    ofThisKey_ = 0;
    check(openSsl().SSL_key_update(ssl_, kKeyUpdateNotRequested) == 1, "cannot change the key of a connection");
  }
  size_t taken = 0;
  size_t at = 0;  // in the first piece
  while (count > 0 && taken < kBatchBytes) {
    // Small pieces share a record.
    char together[kRecordBytes];
    const char* record = static_cast<const char*>(pieces->iov_base) + at;
    size_t length = std::min(pieces->iov_len - at, kRecordBytes);
    if (length < kRecordBytes && count > 1) {
      std::memcpy(together, record, length);
      const size_t more = std::min(pieces[1].iov_len, kRecordBytes - length);
      if (more > 0) {  // an empty message has no memory
        std::memcpy(together + length, pieces[1].iov_base, more);
      }
      record = together;
      length += more;
      at = more;
      pieces++;
      count--;
    } else {
      at += length;
    }
    if (length > 0) {
      check(
          openSsl().SSL_write(ssl_, record, static_cast<int>(length)) == static_cast<int>(length),
          "cannot encrypt a message");
    }
    taken += length;
    if (at == pieces->iov_len) {
      at = 0;
      pieces++;
      count--;
    }
  }
  ofThisKey_ += taken;
  return taken;
}

// Whether the socket has all that is encrypted. If not, errno says why.
bool TlsChannel::flush() {
  char* bytes = nullptr;
  const auto length = static_cast<size_t>(openSsl().BIO_ctrl(encrypted_, kBioContent, 0, &bytes));
  while (flushed_ < length) {
    const ssize_t sent = ::send(fd_, bytes + flushed_, length - flushed_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    flushed_ += std::max<ssize_t>(sent, 0);
  }
  flushed_ = 0;
  if (length > 0) {
    openSsl().BIO_ctrl(encrypted_, kBioReset, 0, nullptr);
  }
  return true;
}

ssize_t TlsChannel::read(void* memory, size_t bytes, bool peek) {
  const int most = static_cast<int>(std::min<size_t>(bytes, INT_MAX));
  openSsl().ERR_clear_error();
  errno = 0;
  return result(peek ? openSsl().SSL_peek(ssl_, memory, most) : openSsl().SSL_read(ssl_, memory, most));
}

// As the system's calls return it.
ssize_t TlsChannel::result(int returned) {
  if (returned > 0) {
    return returned;
  }
  const int system = errno;
  switch (openSsl().SSL_get_error(ssl_, returned)) {
    case kErrorWantRead:
      errno = EAGAIN;
      return -1;
    case kErrorEnd:
      return 0;
    case kErrorSsl:
      errno = EBADMSG;  // not what the peer has sent
      return -1;
    default:
      errno = system;
      return system == 0 ? 0 : -1;
  }
}

namespace {

msghdr messageOf(const iovec* pieces, int count) {
  msghdr parts{};
  parts.msg_iov = const_cast<iovec*>(pieces);
  parts.msg_iovlen = count;
  return parts;
}

}  // namespace

ssize_t Link::send(const iovec* pieces, int count) const {
  if (tls != nullptr) {
    return tls->send(pieces, count);
  }
  const msghdr parts = messageOf(pieces, count);
  return ::sendmsg(fd, &parts, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t Link::receive(const iovec* pieces, int count) const {
  if (tls == nullptr) {
    msghdr parts = messageOf(pieces, count);
    return ::recvmsg(fd, &parts, MSG_DONTWAIT);
  }
  while (count > 1 && pieces->iov_len == 0) {
    pieces++;
    count--;
  }
  return tls->receive(pieces->iov_base, pieces->iov_len);
}

ssize_t Link::peek(void* memory, size_t bytes) const {
  return tls != nullptr ? tls->peek(memory, bytes) : ::recv(fd, memory, bytes, MSG_PEEK | MSG_DONTWAIT);
}

}  // namespace jccl
