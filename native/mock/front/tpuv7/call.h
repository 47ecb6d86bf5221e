// What the stand-in of the chip runs as its one kernel.
#pragma once

namespace mock::tpuv7 {

/** Made by the runtime shim, in the same process. The kernel's argument is its address. */
struct Call {
    void (*run)(Call* self);
};

constexpr char kernelName[] = "mockTpuRun";

}  // namespace mock::tpuv7
