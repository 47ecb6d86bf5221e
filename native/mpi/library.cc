#include "library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "process_state.h"

namespace {

// In the order of org.jccl.mpi.MpiLibraryNative.
enum Family : int { kNone, kOpenMpi, kMpich, kStandardAbi };

thread_local std::string text;

// Asked without headers: the constants of the families differ, these signatures do not.
Family familyOf(void* library) {
  using GetAbi = int (*)(int*, int*);
  int major = 0;
  int minor = 0;
  const auto abi = reinterpret_cast<GetAbi>(dlsym(library, "MPI_Abi_get_version"));
  if (abi != nullptr && abi(&major, &minor) == 0 && major > 0) {
    return kStandardAbi;
  }
  return dlsym(library, "ompi_mpi_comm_self") != nullptr ? kOpenMpi : kMpich;
}

int open(const char* name) {
  const jccl::ProcessState restored;
  const bool present = name[0] == '\0';
  void* library = dlopen(present ? nullptr : name, RTLD_LAZY | RTLD_GLOBAL);
  if (library == nullptr) {
    text = dlerror();
    return kNone;
  }
  void* function = dlsym(library, "MPI_Init_thread");
  if (function == nullptr) {
    text = present ? "no MPI is loaded" : std::string(name) + " has no MPI_Init_thread";
    dlclose(library);
    return kNone;
  }
  Dl_info file;
  text = dladdr(function, &file) != 0 && file.dli_fname != nullptr ? file.dli_fname : name;
  return familyOf(library);
}

}  // namespace

void jccl_mpi_library_prepare() noexcept {
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
}

int jccl_mpi_library_open(const char* name) noexcept {
  try {
    return open(name);
  } catch (...) {
    return kNone;  // out of memory while a message was made
  }
}

const char* jccl_mpi_library_text() noexcept { return text.c_str(); }
