// What TCP over loopback takes for what an operation must move, and nothing else: non-blocking sends and receives, and
// `poll` when neither goes; with `spin` not even that. It starts its ranks itself, which are connected before.
//   tcp_floor RANKS poll|spin SOCKET
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank.h"

enum { MOST_RANKS = 64, FEW_FLOATS = 16 * 1024 };

static int spinning;
static int connections[MOST_RANKS][MOST_RANKS];  // of the row's rank with the column's
static float* scratch;
static size_t scratch_floats;

typedef struct {
  int peer;
  const void* sent;
  size_t to_send;
  void* received;
  size_t to_receive;
} transfer;

static void fail(const char* what) {
  perror(what);
  exit(1);
}

// What went on at a connection; nothing when it would block.
static size_t moved(ssize_t bytes, int receiving) {
  if (bytes == 0 && receiving) {
    fprintf(stderr, "tcp_floor: a rank is gone\n");
    exit(1);
  }
  if (bytes < 0 && errno != EAGAIN && errno != EINTR) {
    fail("tcp_floor");
  }
  return bytes > 0 ? (size_t)bytes : 0;
}

// All at once, until all are done.
static void move(transfer* transfers, int count) {
  for (;;) {
    struct pollfd waiting[MOST_RANKS];
    int left = 0;
    size_t progress = 0;
    for (int i = 0; i < count; i++) {
      transfer* one = &transfers[i];
      int fd = connections[rank][one->peer];
      if (one->to_send > 0) {
        size_t bytes = moved(send(fd, one->sent, one->to_send, MSG_DONTWAIT | MSG_NOSIGNAL), 0);
        one->sent = (const char*)one->sent + bytes;
        one->to_send -= bytes;
        progress += bytes;
      }
      if (one->to_receive > 0) {
        size_t bytes = moved(recv(fd, one->received, one->to_receive, MSG_DONTWAIT), 1);
        one->received = (char*)one->received + bytes;
        one->to_receive -= bytes;
        progress += bytes;
      }
      short events = (short)((one->to_send > 0 ? POLLOUT : 0) | (one->to_receive > 0 ? POLLIN : 0));
      if (events != 0) {
        waiting[left++] = (struct pollfd){fd, events, 0};
      }
    }
    if (left == 0) {
      return;
    }
    if (progress == 0 && !spinning) {
      poll(waiting, left, -1);
    }
  }
}

static void exchange(int peer, const void* sent, size_t to_send, void* received, size_t to_receive) {
  transfer one = {peer, sent, to_send, received, to_receive};
  move(&one, 1);
}

static void add(float* restrict sum, const float* restrict more, size_t floats) {
  for (size_t i = 0; i < floats; i++) {
    sum[i] += more[i];
  }
}

static float* room(size_t floats) {
  if (floats > scratch_floats) {
    free(scratch);
    scratch = malloc(floats * sizeof(float));
    scratch_floats = floats;
  }
  return scratch;
}

// Everybody with everybody: a part for each rank, or always the same, and a part from each.
static void exchange_parts(const float* parts, size_t step, float* received, size_t part) {
  transfer transfers[MOST_RANKS];
  int count = 0;
  for (int i = 1; i < size; i++) {
    int peer = (rank + i) % size;
    transfers[count++] =
        (transfer){peer, parts + peer * step, part * sizeof(float), received + peer * part, part * sizeof(float)};
  }
  move(transfers, count);
}

static void sum_parts(const float* input, float* output, size_t part) {
  float* received = room(part * size);
  exchange_parts(input, part, received, part);
  if (output != input + rank * part) {
    memcpy(output, input + rank * part, part * sizeof(float));
  }
  for (int i = 0; i < size; i++) {
    if (i != rank) {
      add(output, received + i * part, part);
    }
  }
}

// Few floats go whole, in as many steps as doubling takes; of many each rank sums a part up.
static void all_reduce(float* data, size_t floats) {
  if (size == 2 || floats <= FEW_FLOATS || floats % size != 0) {
    float* received = room(floats);
    for (int distance = 1; distance < size; distance *= 2) {
      size_t bytes = floats * sizeof(float);
      exchange(rank ^ distance, data, bytes, received, bytes);
      add(data, received, floats);
    }
  } else {
    size_t part = floats / size;
    float* own = data + rank * part;
    sum_parts(data, own, part);
    exchange_parts(own, 0, data, part);
  }
}

// To or from the root in a binomial tree; ranks are counted from it.
static void tree(float* data, size_t floats, int reducing) {
  size_t bytes = floats * sizeof(float);
  int own = (rank - root + size) % size;
  int lowest = own == 0 ? size : own & -own;  // the distance to the parent
  if (!reducing && own != 0) {
    exchange((rank - lowest + size) % size, NULL, 0, data, bytes);
  }
  if (reducing) {
    for (int distance = 1; distance < lowest; distance *= 2) {
      float* received = room(floats);
      exchange((rank + distance) % size, NULL, 0, received, bytes);
      add(data, received, floats);
    }
  } else {
    for (int distance = lowest / 2; distance > 0; distance /= 2) {
      exchange((rank + distance) % size, data, bytes, NULL, 0);
    }
  }
  if (reducing && own != 0) {
    exchange((rank - lowest + size) % size, data, bytes, NULL, 0);
  }
}

static void barrier(void) {
  for (int distance = 1; distance < size; distance *= 2) {
    char mine = 0, other;
    exchange(rank ^ distance, &mine, 1, &other, 1);
  }
}

static void call(enum operation operation, float* input, float* output, size_t floats) {
  size_t part = floats / size, bytes = floats * sizeof(float);
  switch (operation) {
    case ALL_REDUCE:
      all_reduce(output, floats);
      break;
    case BROADCAST:
    case REDUCE:
      tree(output, floats, operation == REDUCE);
      break;
    case ALL_GATHER:
      memcpy(output + rank * part, input, part * sizeof(float));
      exchange_parts(input, 0, output, part);
      break;
    case REDUCE_SCATTER:
      sum_parts(input, output, part);
      break;
    case ALL_TO_ALL:
      memcpy(output + rank * part, input + rank * part, part * sizeof(float));
      exchange_parts(input, part, output, part);
      break;
    case SENDRECV:
      if (rank == 0) {
        exchange(1, input, bytes, NULL, 0);
        exchange(1, NULL, 0, output, bytes);
      } else if (rank == 1) {
        exchange(0, NULL, 0, output, bytes);
        exchange(0, output, bytes, NULL, 0);
      }
      break;
    default:
      barrier();
  }
}

static void connect_all(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0) {
    fail("tcp_floor: listen");
  }
  for (int i = 0; i < size; i++) {
    for (int k = 0; k < i; k++) {
      int here = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(here, (struct sockaddr*)&address, length) != 0) {
        fail("tcp_floor: connect");
      }
      int there = accept(listener, NULL, NULL);
      setsockopt(here, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      setsockopt(there, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      connections[i][k] = here;
      connections[k][i] = there;
    }
  }
  close(listener);
}

int main(int count, char** arguments) {
  size = count == 4 ? atoi(arguments[1]) : 0;
  if (size < 2 || size > MOST_RANKS || (size & (size - 1)) != 0) {
    fprintf(stderr, "usage: tcp_floor RANKS poll|spin SOCKET; RANKS is a power of two from 2 to %d\n", MOST_RANKS);
    return 2;
  }
  spinning = strcmp(arguments[2], "spin") == 0;
  connect_all();
  for (int child = 1; child < size && rank == 0; child++) {
    if (fork() == 0) {
      rank = child;
    }
  }
  // The others' ends must be closed, so that a rank that ends is noticed.
  for (int i = 0; i < size; i++) {
    for (int k = 0; k < size; k++) {
      if (i != k && i != rank) {
        close(connections[i][k]);
      }
    }
  }
  serve(arguments[3], spinning ? "sockets, spinning" : "sockets and poll");
  if (rank == 0) {
    while (wait(NULL) > 0) {
    }
  }
  return 0;
}
