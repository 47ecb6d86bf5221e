// Opens the user's MPI library, and has memory for it. Compiled without any mpi.h, since it runs before the family is known.
#pragma once

#include <cstdint>

#define JCCL_MPI_LIBRARY_CALL extern "C" __attribute__((visibility("hidden")))

// Switches off the signal handlers that UCX and PSM install when they are loaded; the user's own settings win. Call it
// before anything else.
JCCL_MPI_LIBRARY_CALL void jccl_mpi_library_prepare() noexcept;

// Opens a library, or with an empty name looks for an MPI that the process already has. Its symbols become visible to
// libraries loaded later, which plugins of Open MPI need and the shim. Returns its Family.
JCCL_MPI_LIBRARY_CALL int jccl_mpi_library_open(const char* name) noexcept;

// Zeroed memory in pages of 2 MB where the system has them, aligned to these; 0 when there is none.
JCCL_MPI_LIBRARY_CALL int64_t jccl_mpi_library_allocate(int64_t bytes) noexcept;
JCCL_MPI_LIBRARY_CALL void jccl_mpi_library_free(int64_t address, int64_t bytes) noexcept;

// File of the library that was opened, or why the last one could not be.
JCCL_MPI_LIBRARY_CALL const char* jccl_mpi_library_text() noexcept;
