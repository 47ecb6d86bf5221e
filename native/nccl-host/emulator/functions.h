// The device functions by NCCL's numbers.
#pragma once
#include "device.h"

namespace emulator {

struct Function {
    ncclFunc_t collective;
    ncclDevRedOp_t op = ncclDevSum;
    ncclDataType_t type = ncclUint8;
    bool reduces = false;
};

/** Ends the process for one that the emulator does not have: of another algorithm or protocol than RING, SIMPLE. */
const Function& function(int id);

}  // namespace emulator
