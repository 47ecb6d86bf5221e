// The two forms of a device address. What tpuMalloc gives is raw; SCCL and tpuDNN want it translated by their handle.
// Here the translated form is never the raw one and shows its device, so that a missing or a second translation, or
// one by another device's handle, does not go unnoticed.
#pragma once
#include <cstdint>

namespace mock::tpu {

constexpr uint64_t translatedMark = uint64_t(1) << 56;
constexpr int deviceShift = 48;
constexpr uint64_t rawMask = (uint64_t(1) << deviceShift) - 1;

inline uint64_t translated(uint64_t raw, int device) {
    return raw | translatedMark | (static_cast<uint64_t>(device) << deviceShift);
}

/** Raw ones lie in the lower half of the address space. */
inline bool isTranslated(uint64_t address) { return (address & ~rawMask) != 0 && (address & translatedMark) != 0; }
inline int deviceOfTranslated(uint64_t address) { return static_cast<int>((address >> deviceShift) & 0xff); }
inline uint64_t rawOf(uint64_t address) { return address & rawMask; }

}  // namespace mock::tpu
