// MPI's data types and reduce operations for those of JCCL.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "../common/failure.h"
#include "../common/reduce.h"

namespace jccl {

// Throws when an MPI call did not succeed, with the library's text.
void check(int code, const char* call);

// Asks the library, which may have the standard ABI. Allowed before it is initialised.
bool isOpenMpi();

// Largest number of bytes that one call gets: libraries are not to be trusted above. Only tests change it, to a few bytes.
inline int64_t largestCall = int64_t{1} << 30;

// How many types a tag tells apart where messages are checked.
constexpr int kCheckedTags = 16;
static_assert(kDataTypes <= kCheckedTags, "messages of each data type have a tag of their own");

// The predefined type that has as many bytes; the 16-bit floats and bool go as unsigned integers.
MPI_Datatype datatypeOf(int type);

// A committed type for any number of elements, to be freed by the caller.
MPI_Datatype blockOf(int type, int64_t count);

// MPI's operation where it means the same as JCCL's, else one over the kernels of reduce.h, made at first use. In a world
// with members that are not Java MPI's wherever there is one: ways through a library differ by whose operation it is.
MPI_Op operationOf(int type, int kind, bool sharedWorld);

// Whether the library reduces by itself, so that the memory may be a device's; what this shim adds works on the host.
bool reducesWithoutHost(int type, int kind);

// Whether the library takes the memory of CUDA devices; once it is initialised.
bool takesCuda();

// Frees what operationOf made; before MPI_Finalize.
void freeOperations();

}  // namespace jccl
