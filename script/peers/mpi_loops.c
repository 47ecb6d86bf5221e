// The loops of org.jccl.benchmarks.MpiPairs in C. Built by script/bench/vs-mpi, for the MPI that the process runs on.
#include <jni.h>
#include <mpi.h>

static MPI_Comm comm;
static int rank;

static void await(MPI_Request* request) {
  int done = 0;
  while (!done) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
  }
}

static void reduce(float* data, int floats, int blocking) {
  if (blocking) {
    MPI_Allreduce(MPI_IN_PLACE, data, floats, MPI_FLOAT, MPI_SUM, comm);
  } else {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, data, floats, MPI_FLOAT, MPI_SUM, comm, &request);
    await(&request);
  }
}

static void give(float* data, int floats, int peer, int blocking) {
  if (blocking) {
    MPI_Send(data, floats, MPI_FLOAT, peer, 0, comm);
  } else {
    MPI_Request request;
    MPI_Isend(data, floats, MPI_FLOAT, peer, 0, comm, &request);
    await(&request);
  }
}

static void take(float* data, int floats, int peer, int blocking) {
  if (blocking) {
    MPI_Recv(data, floats, MPI_FLOAT, peer, 0, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Request request;
    MPI_Irecv(data, floats, MPI_FLOAT, peer, 0, comm, &request);
    await(&request);
  }
}

JNIEXPORT void JNICALL Java_org_jccl_benchmarks_MpiLoops_join(JNIEnv* env, jclass type) {
  (void)env;
  (void)type;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
}

JNIEXPORT void JNICALL Java_org_jccl_benchmarks_MpiLoops_allReduce(
    JNIEnv* env, jclass type, jlong data, jint floats, jboolean blocking, jint repetitions) {
  (void)env;
  (void)type;
  for (jint i = 0; i < repetitions; i++) {
    reduce((float*)data, floats, blocking);
  }
}

JNIEXPORT void JNICALL Java_org_jccl_benchmarks_MpiLoops_pingPong(
    JNIEnv* env, jclass type, jlong sent, jlong received, jint floats, jboolean blocking, jint repetitions) {
  (void)env;
  (void)type;
  for (jint i = 0; i < repetitions; i++) {
    if (rank == 0) {
      give((float*)sent, floats, 1, blocking);
      take((float*)received, floats, 1, blocking);
    } else if (rank == 1) {
      take((float*)received, floats, 0, blocking);
      give((float*)sent, floats, 0, blocking);
    }
  }
}

JNIEXPORT jobject JNICALL Java_org_jccl_benchmarks_MpiLoops_view(JNIEnv* env, jclass type, jlong address, jlong bytes) {
  (void)type;
  return (*env)->NewDirectByteBuffer(env, (void*)address, bytes);
}
