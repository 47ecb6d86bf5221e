// A stand-in for Sophgo's model of the chip (libtpuv7_emulator.so), which is in no public place: memory, and one kernel
// that calls back into the process. Sophgo's daemon and scalar emulator load it by TPU_EMULATOR_PATH and find these
// functions by name.
#include <mutex>
#include <sys/mman.h>

#include "../../engine/base.h"
#include "call.h"

namespace {

constexpr uint64_t memoryBytes = uint64_t(4) << 30;

/** All cores of a chip share it. */
void* memory() {
    static void* bytes = mmap(nullptr, memoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return bytes;
}

}  // namespace

MOCK_API uint64_t cmodel_get_config_gmem_size(int) { return memoryBytes; }
MOCK_API int cmodel_init(int, uint64_t) { return memory() == MAP_FAILED ? -1 : 0; }
MOCK_API void* get_global_memaddr(int) { return memory(); }

MOCK_API int tpu_kernel_init(int) { return 0; }
MOCK_API int set_tpu_groupset_info(void*) { return 0; }
MOCK_API int tpu_poll_empty() { return 0; }

MOCK_API int mockTpuRun(void* argument) {
    auto* call = *static_cast<mock::tpuv7::Call**>(argument);
    call->run(call);
    return 0;
}
