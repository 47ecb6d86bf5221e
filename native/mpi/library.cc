#include "library.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <string>

#include "process_state.h"

namespace {

// In the order of org.jccl.mpi.MpiLibraryNative.
enum Family : int { kNone, kOpenMpi, kMpich, kStandardAbi };

thread_local std::string text;

// With pages of 4 KiB. A kernel of aarch64 with larger ones has larger huge pages too, and does without them here.
constexpr size_t kHugePage = 2 << 20;

size_t wholePages(int64_t bytes) { return (static_cast<size_t>(bytes) + kHugePage - 1) / kHugePage * kHugePage; }

// Asked without headers: the constants of the families differ, these signatures do not.
Family familyOf(void* library) {
  using GetAbi = int (*)(int*, int*);
  constexpr int kKnownAbi = 1;
  int major = 0;
  int minor = 0;
  const auto abi = reinterpret_cast<GetAbi>(dlsym(library, "MPI_Abi_get_version"));
  if (abi != nullptr && abi(&major, &minor) == 0 && major > 0) {
    if (major == kKnownAbi) {
      return kStandardAbi;
    }
    text += " has version " + std::to_string(major) + "." + std::to_string(minor) +
            " of the standard ABI, of which only version 1 is supported; use the library's own libmpi";
    return kNone;
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
  const Family family = familyOf(library);
  if (family == kNone) {
    dlclose(library);
  }
  return family;
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

int64_t jccl_mpi_library_allocate(int64_t bytes) noexcept {
  const auto size = wholePages(bytes);
  void* mapped =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return 0;
  }
  char* begin = static_cast<char*>(mapped);
  const auto before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) {
    munmap(begin, before);
  }
  munmap(begin + before + size, kHugePage - before);
  // Where huge pages are switched off the memory is as good as any.
  madvise(begin + before, size, MADV_HUGEPAGE);
  return reinterpret_cast<int64_t>(begin + before);
}

void jccl_mpi_library_free(int64_t address, int64_t bytes) noexcept {
  munmap(reinterpret_cast<void*>(address), wholePages(bytes));
}

const char* jccl_mpi_library_text() noexcept { return text.c_str(); }
