// NCCL polls its sockets without rest, which is fine where each rank has cores of its own. Here dozens of its threads share
// two: a thread that finds nothing sleeps until something arrives, for a millisecond at most. The linker puts these
// functions in the place of the C library's.
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

extern "C" {
ssize_t __real_recv(int socket, void* buffer, size_t bytes, int flags);
int __real_accept(int socket, sockaddr* address, socklen_t* bytes);
}

namespace {

void rest(int socket) {
    int code = errno;
    pollfd one{socket, POLLIN, 0};
    poll(&one, 1, 1);
    errno = code;
}

bool foundNothing() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

extern "C" ssize_t __wrap_recv(int socket, void* buffer, size_t bytes, int flags) {
    ssize_t count = __real_recv(socket, buffer, bytes, flags);
    if (count < 0 && foundNothing()) rest(socket);
    return count;
}

extern "C" int __wrap_accept(int socket, sockaddr* address, socklen_t* bytes) {
    int connection = __real_accept(socket, address, bytes);
    if (connection < 0 && foundNothing()) rest(socket);
    return connection;
}
