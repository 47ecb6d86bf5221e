// The messages of a peer whose connection is encrypted: what gloo's Pair does with the socket, done with the channel.
#include <cerrno>
#include <cstring>

#include "transport.h"

namespace jccl {

bool Peer::read() { return tls_ == nullptr ? tcp::Pair::read() : readEncrypted(); }

bool Peer::write(tcp::Op& op) { return tls_ == nullptr ? tcp::Pair::write(op) : writeEncrypted(op); }

bool Peer::readEncrypted() {
  ::gloo::NonOwningPtr<tcp::UnboundBuffer> buffer;
  iovec piece{};
  for (ssize_t wanted = prepareRead(rx_, buffer, piece); wanted != 0; wanted = prepareRead(rx_, buffer, piece)) {
    if (wanted < 0 || state_ == CLOSED) {
      return false;
    }
    const ssize_t got = tls_->receive(piece.iov_base, piece.iov_len);
    if (!moved(got)) {
      return false;
    }
    rx_.nread += got;
  }
  readComplete(buffer);
  return true;
}

bool Peer::writeEncrypted(tcp::Op& op) {
  ::gloo::NonOwningPtr<tcp::UnboundBuffer> buffer;
  if (op.getOpcode() == tcp::Op::SEND_UNBOUND_BUFFER) {
    buffer = ::gloo::NonOwningPtr<tcp::UnboundBuffer>(op.ubuf);
    if (!buffer) {
      return false;
    }
  }
  while (op.nwritten < op.preamble.nbytes) {
    if (state_ == CLOSED) {
      return false;
    }
    iovec pieces[2];
    int count = 0;
    prepareWrite(op, buffer, pieces, count);
    const ssize_t sent = tls_->send(pieces, count);
    if (!moved(sent)) {
      return false;
    }
    op.nwritten += sent;
  }
  writeComplete(op, buffer, op.getOpcode());
  return true;
}

// Whether bytes were moved. If not, they will be when the socket is ready, or the connection has failed.
bool Peer::moved(ssize_t bytes) {
  if (bytes <= 0 && (bytes == 0 || errno != EAGAIN)) {
    signalException(bytes == 0 ? "Connection closed by peer" : std::string("Connection failed: ") + std::strerror(errno));
  }
  return bytes > 0;
}

}  // namespace jccl
