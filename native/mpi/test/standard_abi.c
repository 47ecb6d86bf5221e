// The constants of the standard ABI once more, noted apart from ../standard_abi/mpi.h. It compiles where they agree; with
// the include path of a library's own header, as MPICH 5 and Open MPI 6 have, it checks this listing instead:
//   gcc -fsyntax-only -I DIRECTORY standard_abi.c
#include <mpi.h>
#include <stddef.h>

#define SAME(name, value) _Static_assert((intptr_t)(name) == (value), #name)

SAME(MPI_ABI_VERSION, 1);
SAME(MPI_ABI_SUBVERSION, 0);

// Handles are ten bits: the kind in front, the object behind.
SAME(MPI_SUM, 33);
SAME(MPI_MIN, 34);
SAME(MPI_MAX, 35);
SAME(MPI_PROD, 36);
SAME(MPI_BAND, 40);
SAME(MPI_BOR, 41);
SAME(MPI_BXOR, 42);
SAME(MPI_COMM_NULL, 256);
SAME(MPI_COMM_WORLD, 257);
SAME(MPI_COMM_SELF, 258);
SAME(MPI_ERRORS_RETURN, 323);
SAME(MPI_REQUEST_NULL, 384);
SAME(MPI_FLOAT, 528);
SAME(MPI_DOUBLE, 532);
SAME(MPI_INT8_T, 576);
SAME(MPI_UINT8_T, 577);
SAME(MPI_BYTE, 583);
SAME(MPI_INT16_T, 584);
SAME(MPI_UINT16_T, 585);
SAME(MPI_INT32_T, 592);
SAME(MPI_INT64_T, 600);
SAME(MPI_UINT64_T, 601);

SAME(MPI_IN_PLACE, 1);
SAME(MPI_STATUS_IGNORE, 0);
SAME(MPI_STATUSES_IGNORE, 0);
SAME(MPI_ANY_SOURCE, -1);
SAME(MPI_THREAD_SINGLE, 0);
SAME(MPI_THREAD_FUNNELED, 1024);
SAME(MPI_THREAD_SERIALIZED, 2048);
SAME(MPI_THREAD_MULTIPLE, 4096);
SAME(MPI_TAG_UB, 501);
SAME(MPI_MAX_ERROR_STRING, 512);
SAME(MPI_MAX_LIBRARY_VERSION_STRING, 8192);

SAME(MPI_SUCCESS, 0);
SAME(MPI_ERR_BUFFER, 1);
SAME(MPI_ERR_COUNT, 2);
SAME(MPI_ERR_TYPE, 3);
SAME(MPI_ERR_TAG, 4);
SAME(MPI_ERR_RANK, 6);
SAME(MPI_ERR_ROOT, 8);
SAME(MPI_ERR_OP, 10);
SAME(MPI_ERR_ARG, 13);
SAME(MPI_ERR_UNKNOWN, 14);
SAME(MPI_ERR_TRUNCATE, 15);

SAME(sizeof(MPI_Status), 32);
SAME(offsetof(MPI_Status, MPI_SOURCE), 0);
SAME(offsetof(MPI_Status, MPI_TAG), 4);
SAME(offsetof(MPI_Status, MPI_ERROR), 8);
SAME(sizeof(MPI_Aint), sizeof(void*));
SAME(sizeof(MPI_Count), 8);
SAME(sizeof(MPI_Comm), sizeof(void*));
SAME(sizeof(MPI_Request), sizeof(void*));
SAME(sizeof(MPI_Datatype), sizeof(void*));
