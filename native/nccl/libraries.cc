#include "libraries.h"

#include <dlfcn.h>

#include <string>

#include "jccl_nccl.h"

namespace jccl::nccl {

#define JCCL_DEFINE(result, name, arguments) result(*name) arguments = nullptr;
JCCL_CUDA_FUNCTIONS(JCCL_DEFINE)
JCCL_NCCL_FUNCTIONS(JCCL_DEFINE)
JCCL_NCCL_NEWER_FUNCTIONS(JCCL_DEFINE)
#undef JCCL_DEFINE

}  // namespace jccl::nccl

using namespace jccl::nccl;

namespace {

thread_local std::string text;

void* ncclLibrary = nullptr;

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

const char* missingOfCuda(void* library) {
#define JCCL_FIND(result, name, arguments) \
  if (!find(library, #name, name)) return #name;
  JCCL_CUDA_FUNCTIONS(JCCL_FIND)
  return nullptr;
}

const char* missingOfNccl(void* library) {
  JCCL_NCCL_FUNCTIONS(JCCL_FIND)
#undef JCCL_FIND
#define JCCL_FIND(result, name, arguments) find(library, #name, name);
  JCCL_NCCL_NEWER_FUNCTIONS(JCCL_FIND)
#undef JCCL_FIND
  return nullptr;
}

// The file that a loaded library came from, as far as the linker knows it.
std::string fileOf(const void* function, const char* name) {
  Dl_info file;
  return dladdr(function, &file) != 0 && file.dli_fname != nullptr ? file.dli_fname : name;
}

// A library that some function is missing of is closed again; what was found of it is not called, since Java gives up.
int use(void* library, const char* name, const char* (*missing)(void*), const void* const& function) {
  if (library == nullptr) {
    const char* why = dlerror();
    text = why != nullptr ? why : "not loaded";
    return 0;
  }
  const char* lacks = missing(library);
  if (lacks != nullptr) {
    text = std::string(name) + " has no " + lacks;
    dlclose(library);
    return 0;
  }
  text = fileOf(function, name);
  return 1;
}

// Lazily, as the JVM loads libraries: one that was built for a newer runtime may name functions that it never calls.
int flags(int present) { return RTLD_LAZY | RTLD_LOCAL | (present != 0 ? RTLD_NOLOAD : 0); }

}  // namespace

int jccl_nccl_open_driver(const char* file) noexcept {
  if (dlopen(file, RTLD_NOW | RTLD_LOCAL) != nullptr) {
    return 1;
  }
  text = dlerror();
  return 0;
}

int jccl_nccl_open_runtime(const char* file, int present) noexcept {
  const void* const& function = reinterpret_cast<const void* const&>(cudaGetDeviceCount);
  return use(dlopen(file, flags(present)), file, missingOfCuda, function);
}

int jccl_nccl_open_nccl(const char* file, int present) noexcept {
  const void* const& function = reinterpret_cast<const void* const&>(ncclGetVersion);
  void* library = dlopen(file, flags(present));
  const int usable = use(library, file, missingOfNccl, function);
  ncclLibrary = usable != 0 ? library : nullptr;
  return usable;
}

const char* jccl_nccl_text() noexcept { return text.c_str(); }

int jccl_nccl_has(const char* function) noexcept {
  return ncclLibrary != nullptr && dlsym(ncclLibrary, function) != nullptr ? 1 : 0;
}
