// Which chip the libraries are for; see chip.cc.
#pragma once
#include <cstddef>

namespace mock::tpu {

/** As in the names of files: sg2260, sg2260e, bm1684x. */
const char* chipName();

/** Whether the process told the runtime, before it was loaded, how many cores this chip has. */
bool areCoresRight();

/** Whether kernels are for this chip. Those that do not say for which are for all. */
bool areKernelsFit(const char* data, size_t bytes);

}  // namespace mock::tpu
