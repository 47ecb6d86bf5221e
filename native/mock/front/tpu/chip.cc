// What differs between chips. Built once for each, with MOCK_TPU_CHIP as its name.
#include "chip.h"

#include <cstring>

#include "../../engine/base.h"

namespace mock::tpu {

namespace {

constexpr char kernels[] = "mock kernels for ";

// Read when the library is loaded: who sets the variable later is not heard. The plugin for PyTorch sets 4 for the
// SG2260E, since the runtime takes every chip for one with eight cores.
const long coresAtLoad = setting("TPU_RT_CORE_NUM", 8);

}  // namespace

const char* chipName() { return MOCK_TPU_CHIP; }

bool areCoresRight() { return std::strcmp(chipName(), "sg2260e") != 0 || coresAtLoad == 4; }

bool areKernelsFit(const char* data, size_t bytes) {
    size_t prefix = sizeof kernels - 1;
    if (bytes < prefix || std::memcmp(data, kernels, prefix) != 0) return true;
    size_t length = std::strlen(chipName());
    return bytes == prefix + length && std::memcmp(data + prefix, chipName(), length) == 0;
}

}  // namespace mock::tpu
