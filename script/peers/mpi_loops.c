// What `jccl bench --backend mpi` does, in C: prints the medians in microseconds of the call that group.sync() becomes
// (non-blocking, then test) and of the blocking call. Arguments: all_reduce or sendrecv, bytes, seconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxSamples = 200000 };

static double samples[kMaxSamples];

static int ascending(const void* a, const void* b) {
  const double left = *(const double*)a;
  const double right = *(const double*)b;
  return (left > right) - (left < right);
}

static void await(MPI_Request* request) {
  int done = 0;
  while (!done) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
}

static void all_reduce(char* data, int bytes, int blocking) {
  if (blocking) {
    MPI_Allreduce(MPI_IN_PLACE, data, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, data, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    await(&request);
  }
}

static void send(char* data, int bytes, int peer, int blocking) {
  if (blocking) {
    MPI_Send(data, bytes / 4, MPI_FLOAT, peer, 0, MPI_COMM_WORLD);
  } else {
    MPI_Request request;
    MPI_Isend(data, bytes / 4, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &request);
    await(&request);
  }
}

static void receive(char* data, int bytes, int peer, int blocking) {
  if (blocking) {
    MPI_Recv(data, bytes / 4, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Request request;
    MPI_Irecv(data, bytes / 4, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &request);
    await(&request);
  }
}

static void there_and_back(char* in, char* out, int bytes, int rank, int blocking) {
  if (rank == 0) {
    send(in, bytes, 1, blocking);
    receive(out, bytes, 1, blocking);
  } else if (rank == 1) {
    receive(out, bytes, 0, blocking);
    send(in, bytes, 0, blocking);
  }
}

static void call(const char* op, char* in, char* out, int bytes, int rank, int blocking) {
  if (strcmp(op, "all_reduce") == 0) {
    all_reduce(in, bytes, blocking);
  } else {
    there_and_back(in, out, bytes, rank, blocking);
  }
}

// A tenth of the time warms up and tells how many calls fit into the rest.
static double median(const char* op, char* in, char* out, int bytes, int rank, int blocking, double seconds) {
  int count = 0;
  const double start = MPI_Wtime();
  for (int go_on = 1; go_on;) {
    for (int i = 0; i < 10; i++, count++) {
      call(op, in, out, bytes, rank, blocking);
    }
    go_on = MPI_Wtime() - start < seconds / 10 && count < kMaxSamples / 10;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  count *= 9;
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < count; i++) {
    const double before = MPI_Wtime();
    call(op, in, out, bytes, rank, blocking);
    samples[i] = (MPI_Wtime() - before) * 1e6;
  }
  qsort(samples, (size_t)count, sizeof(double), ascending);
  return samples[count / 2];
}

int main(int argc, char** argv) {
  int level;
  int rank;
  if (argc != 4) {
    fprintf(stderr, "usage: mpi_loops all_reduce|sendrecv BYTES SECONDS\n");
    return 2;
  }
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = atoi(argv[2]);
  char* in = calloc(1, (size_t)bytes);
  char* out = calloc(1, (size_t)bytes);
  const double started = median(argv[1], in, out, bytes, rank, 0, atof(argv[3]));
  const double blocking = median(argv[1], in, out, bytes, rank, 1, atof(argv[3]));
  if (rank == 0) {
    printf("%.3f,%.3f\n", started, blocking);
  }
  MPI_Finalize();
  return 0;
}
