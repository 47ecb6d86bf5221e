// MPI in C, with the blocking calls that its users write.
#include <mpi.h>

#include "rank.h"

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

static void call(enum operation operation, float* input, float* output, size_t floats) {
  int count = (int)floats, part = (int)(floats / size);
  switch (operation) {
    case ALL_REDUCE:
      MPI_Allreduce(MPI_IN_PLACE, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case BROADCAST:
      MPI_Bcast(output, count, MPI_FLOAT, root, MPI_COMM_WORLD);
      break;
    case REDUCE:
      // Of what a rank has written as a root, as in place; MPICH 4.0 crashes in place, with 64 KB and another root than 0.
      MPI_Reduce(
          rank == root ? input : output, rank == root ? output : NULL, count, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
      break;
    case ALL_GATHER:
      MPI_Allgather(input, part, MPI_FLOAT, output, part, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case REDUCE_SCATTER:
      MPI_Reduce_scatter_block(input, output, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case ALL_TO_ALL:
      MPI_Alltoall(input, part, MPI_FLOAT, output, part, MPI_FLOAT, MPI_COMM_WORLD);
      break;
    case SENDRECV:
      if (rank == 0) {
        MPI_Send(input, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(output, count, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(output, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(output, count, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
      }
      break;
    default:
      barrier();
  }
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n")] = '\0';
  serve(arguments[1], version);
  MPI_Finalize();
  return 0;
}
