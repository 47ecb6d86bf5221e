// Where devices are on the PCI bus, the same for all of a machine's processes.
#pragma once

namespace mock::cuda {

constexpr const char* busFormat = "0000:%02X:00.0";

inline int busOf(int device) { return 0x10 + device; }

}  // namespace mock::cuda
