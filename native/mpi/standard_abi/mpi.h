// The part of the C interface of MPI 5.0 that this shim uses, with the constants of its standard ABI, version 1.0 (appendix
// A of the standard). No Debian 12 package has such a header, and any library with this ABI fits it. The values are
// those of MPICH 5.0.2 and Open MPI 6.0.0rc2, which agree; drafts of the ABI from before the standard differ.
#pragma once

#include <stdint.h>

#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;

// Handles: small numbers for what is predefined, addresses of the library's own for what is made.
typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;

typedef struct {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;

typedef void MPI_User_function(void* in, void* in_out, int* length, MPI_Datatype* type);

#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_BAND ((MPI_Op)0x28)
#define MPI_BOR ((MPI_Op)0x29)
#define MPI_BXOR ((MPI_Op)0x2a)

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)

#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

#define MPI_REQUEST_NULL ((MPI_Request)0x180)

#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)

#define MPI_IN_PLACE ((void*)1)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

enum { MPI_ANY_SOURCE = -1 };

enum { MPI_THREAD_SINGLE = 0, MPI_THREAD_FUNNELED = 1024, MPI_THREAD_SERIALIZED = 2048, MPI_THREAD_MULTIPLE = 4096 };

enum { MPI_TAG_UB = 501 };

enum { MPI_MAX_ERROR_STRING = 512, MPI_MAX_LIBRARY_VERSION_STRING = 8192 };

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_BUFFER = 1,
  MPI_ERR_COUNT = 2,
  MPI_ERR_TYPE = 3,
  MPI_ERR_TAG = 4,
  MPI_ERR_RANK = 6,
  MPI_ERR_ROOT = 8,
  MPI_ERR_OP = 10,
  MPI_ERR_ARG = 13,
  MPI_ERR_UNKNOWN = 14,
  MPI_ERR_TRUNCATE = 15
};

int MPI_Get_library_version(char* version, int* length);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Initialized(int* flag);
int MPI_Query_thread(int* provided);
int MPI_Finalize(void);
int MPI_Finalized(int* flag);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Error_class(int code, int* error_class);
int MPI_Error_string(int code, char* text, int* length);

int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);
int MPI_Comm_group(MPI_Comm comm, MPI_Group* group);
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found);
int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group* made);
int MPI_Group_free(MPI_Group* group);

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made);
int MPI_Type_create_hindexed(
    int count, const int lengths[], const MPI_Aint places[], MPI_Datatype type, MPI_Datatype* made);
int MPI_Type_create_struct(
    int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);
int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* made);
int MPI_Op_free(MPI_Op* op);

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Cancel(MPI_Request* request);
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count);

int MPI_Isend(
    const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Issend(
    const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Recv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Sendrecv(
    const void* in, int in_count, MPI_Datatype in_type, int to, int in_tag, void* out, int out_count,
    MPI_Datatype out_type, int from, int out_tag, MPI_Comm comm, MPI_Status* status);
int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int* found, MPI_Status* status);
int MPI_Improbe(int peer, int tag, MPI_Comm comm, int* found, MPI_Message* message, MPI_Status* status);
int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request);
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Iallreduce(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request);
int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Ireduce(
    const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request* request);
int MPI_Reduce_scatter(
    const void* in, void* out, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Allgather(
    const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm);
int MPI_Allgatherv(
    const void* in, int in_count, MPI_Datatype in_type, void* out, const int out_counts[], const int places[],
    MPI_Datatype out_type, MPI_Comm comm);
int MPI_Gather(
    const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
    MPI_Comm comm);
int MPI_Gatherv(
    const void* in, int in_count, MPI_Datatype in_type, void* out, const int out_counts[], const int places[],
    MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Scatter(
    const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
    MPI_Comm comm);
int MPI_Scatterv(
    const void* in, const int in_counts[], const int places[], MPI_Datatype in_type, void* out, int out_count,
    MPI_Datatype out_type, int root, MPI_Comm comm);
int MPI_Alltoall(
    const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm);
int MPI_Alltoallw(
    const void* in, const int in_counts[], const int in_places[], const MPI_Datatype in_types[], void* out,
    const int out_counts[], const int out_places[], const MPI_Datatype out_types[], MPI_Comm comm);

#ifdef __cplusplus
}
#endif
