// What is done to elements: all types and reductions of NCCL's kernels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "device.h"

namespace emulator {

class Reduction {
public:
    /** Moves bytes as they are. */
    Reduction() = default;
    /** `argument` is that of the reduction: a scalar, a divisor or a mask. */
    Reduction(ncclDevRedOp_t op, ncclDataType_t type, uint64_t argument);

    size_t elementBytes() const { return elementBytes_; }

    /**
     * Writes to `to`, for each element: the rank's own one and the received one together, where either may be missing.
     * The result is the final one if `last`.
     */
    void apply(char* to, const char* own, const char* received, size_t count, bool last) const;

private:
    ncclDevRedOp_t op_ = ncclDevSum;
    ncclDataType_t type_ = ncclUint8;
    uint64_t argument_ = 0;
    size_t elementBytes_ = 1;
    bool reduces_ = false;
};

size_t bytesOf(ncclDataType_t type);

}  // namespace emulator
