// libtpurt over Sophgo's own libtpuv7_rt of November 2024, for script/test-sccl. The mock of tpuDNN runs its operations as
// kernels of that runtime, see chip.cc.
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/file.h>

#include "../../engine/runtime/link.h"
#include "../../engine/runtime/traits.h"
#include "../tpu/functions.h"
#include "../tpu/link.h"
#include "call.h"

namespace mock {

const Traits traits{-1, 0, false};

}  // namespace mock

extern "C" {
int tpuRtInit();
int tpuRtGetDeviceCount(int* count);
int tpuRtSetDevice(int device);
int tpuRtMalloc(void** address, unsigned long long bytes, int parallel);
int tpuRtFree(void** addresses, int count);
int tpuRtMemcpyS2D(void* to, const void* from, unsigned long long bytes);
int tpuRtMemcpyD2S(void* to, const void* from, unsigned long long bytes);
int tpuRtMemcpyS2DAsync(void* to, const void* from, unsigned long long bytes, void* stream);
int tpuRtMemcpyD2SAsync(void* to, const void* from, unsigned long long bytes, void* stream);
int tpuRtMemcpyD2DAsync(void* to, const void* from, unsigned long long bytes, void* stream);
int tpuRtStreamCreate(void** stream);
int tpuRtStreamSynchronize(void* stream);
int tpuRtEventCreate(void** event);
int tpuRtEventFree(void* event, void* stream);
int tpuRtEventRecord(void* event, void* stream);
int tpuRtEventQuery(void* event);
int tpuRtEventSynchronize(void* event);
int tpuRtEventElapsedTime(float* milliseconds, void* start, void* end);
void* tpuRtKernelLoadModuleFile(const char* file, void* stream);
int tpuRtKernelLaunchAsync(void* module, const char* name, void* arguments, uint32_t bytes, uint64_t groups,
                           uint64_t blocks, void* stream);
}

namespace mock::tpuv7 {

namespace {

thread_local int device = -1;

/** The codes of libtpurt have other numbers. */
tpuError_t translate(int code) {
    switch (code) {
        case 0: return tpuSuccess;
        case 1:   // not ready
        case 11:  // no device
            return tpuErrorNoDevice;
        case 5: return tpuErrorOutOfMemory;
        case 13: return tpuErrorInvalidValue;
        default: return tpuErrorFailure;
    }
}

/**
 * Lets the processes of a host start their daemons one after the other: two that start at the same moment can find the
 * same port, and one of them crashes.
 */
class StartLock {
public:
    StartLock() : file_(open(std::getenv("TPU_EMULATOR_PATH"), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0 || flock(file_, LOCK_EX) != 0) fatal("tpuv7: TPU_EMULATOR_PATH cannot be locked");
    }
    ~StartLock() { close(file_); }

private:
    const int file_;
};

/** What tpuDNN needs of a stream of the runtime. Nothing runs on the mock's own. */
struct Known {
    void* handle = nullptr;
    void* module = nullptr;
};

std::mutex mutex;
std::map<const void*, Stream*>& streams() {
    static auto* all = new std::map<const void*, Stream*>();
    return *all;
}
std::map<const Stream*, Known>& handles() {
    static auto* all = new std::map<const Stream*, Known>();
    return *all;
}

struct TaskCall : Call {
    Task task;
    explicit TaskCall(Task body) : Call{&TaskCall::runTask}, task(std::move(body)) {}
    static void runTask(Call* self) {
        auto* own = static_cast<TaskCall*>(self);
        own->task();
        delete own;
    }
};

class Link final : public RuntimeLink {
public:
    // One process drives one chip, so the others are not counted.
    int deviceCount() override { return 16; }
    int currentDevice() override { return device; }
    Status setCurrentDevice(int) override { return unsupported(); }
    int capability() override { return 0; }

    Stream* findStream(const void* handle) override {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = streams().find(handle);
        return found == streams().end() ? nullptr : found->second;
    }
    Stream* createStream() override { fatal("tpuv7: a handle without a stream"); }

    Status submit(Stream& stream, Task task, std::shared_ptr<Order>) override {
        Known known;
        {
            std::lock_guard<std::mutex> lock(mutex);
            known = handles()[&stream];
        }
        Call* call = new TaskCall(std::move(task));
        int code = tpuRtKernelLaunchAsync(known.module, kernelName, &call, sizeof call, 1, 1, known.handle);
        return code == 0 ? Status::Ok : Status::Broken;
    }

    Status join(Stream&, Stream&) override { return unsupported(); }
    bool isCaptured(Stream&) override { return false; }
    void await(Order&) override { unsupported(); }
    void await(Stream&) override { unsupported(); }
    void awaitDevice(int) override {}
    bool isIdle(Stream&) override { return false; }
    int deviceOf(const void*) override { return device; }

    char* view(const void* address, size_t, const char*) override {
        static auto* memory = [] {
            void* chip = dlopen(std::getenv("TPU_EMULATOR_PATH"), RTLD_NOW | RTLD_NOLOAD);
            auto find = reinterpret_cast<void* (*)(int)>(chip == nullptr ? nullptr : dlsym(chip, "get_global_memaddr"));
            if (find == nullptr) fatal("tpuv7: TPU_EMULATOR_PATH is not loaded");
            return static_cast<char*>(find(0));
        }();
        return memory + reinterpret_cast<uintptr_t>(address);
    }
    Status allocate(void**, size_t) override { return unsupported(); }
    Status release(void*) override { return unsupported(); }
    bool reserve(int, size_t) override { return true; }
    void giveBack(int, size_t) override {}
    void explain(const std::string&) override {}

private:
    [[noreturn]] static Status unsupported() { fatal("tpuv7: tpuDNN asked for what this runtime has not"); }
};

}  // namespace

}  // namespace mock::tpuv7

using namespace mock;
using namespace mock::tpuv7;

mock::RuntimeLink* mockTpuRuntime() {
    static auto* link = new Link();
    return link;
}

MOCK_API tpuError_t tpuInit() {
    StartLock lock;
    return translate(tpuRtInit());
}
MOCK_API tpuError_t tpuGetDeviceCount(int* count) { return translate(tpuRtGetDeviceCount(count)); }

MOCK_API tpuError_t tpuSetDevice(int index) {
    StartLock lock;
    int code = tpuRtSetDevice(index);
    if (code != 0) return translate(code);
    device = index;
    // The daemon starts in the background. Once it answers, it has its port.
    void* memory = nullptr;
    code = tpuRtMalloc(&memory, 4096, 1);
    return translate(code != 0 ? code : tpuRtFree(&memory, 1));
}

MOCK_API tpuError_t tpuStreamCreate(tpuStream_t* stream) {
    int code = tpuRtStreamCreate(reinterpret_cast<void**>(stream));
    if (code != 0) return translate(code);
    auto* made = new Stream();
    made->live = true;
    made->device = device;
    std::lock_guard<std::mutex> lock(mutex);
    streams()[*stream] = made;
    handles()[made].handle = *stream;
    return tpuSuccess;
}

MOCK_API tpuError_t tpuStreamSynchronize(tpuStream_t stream) { return translate(tpuRtStreamSynchronize(stream)); }
MOCK_API tpuError_t tpuEventCreate(tpuEvent_t* event) {
    return translate(tpuRtEventCreate(reinterpret_cast<void**>(event)));
}
MOCK_API tpuError_t tpuEventDestroy(tpuEvent_t event, tpuStream_t stream) {
    return translate(tpuRtEventFree(event, stream));
}
MOCK_API tpuError_t tpuEventRecord(tpuEvent_t event, tpuStream_t stream) {
    return translate(tpuRtEventRecord(event, stream));
}
MOCK_API tpuError_t tpuEventQuery(tpuEvent_t event) { return translate(tpuRtEventQuery(event)); }
MOCK_API tpuError_t tpuEventSynchronize(tpuEvent_t event) { return translate(tpuRtEventSynchronize(event)); }
MOCK_API tpuError_t tpuEventElapsedTime(float* milliseconds, tpuEvent_t start, tpuEvent_t end) {
    return translate(tpuRtEventElapsedTime(milliseconds, start, end));
}

MOCK_API tpuError_t tpuMalloc(void** address, size_t bytes) { return translate(tpuRtMalloc(address, bytes, 1)); }
MOCK_API tpuError_t tpuFree(void* address) { return translate(tpuRtFree(&address, 1)); }
MOCK_API tpuError_t tpuMemcpyH2D(void* to, const void* from, size_t bytes) {
    return translate(tpuRtMemcpyS2D(to, from, bytes));
}
MOCK_API tpuError_t tpuMemcpyD2H(void* to, const void* from, size_t bytes) {
    return translate(tpuRtMemcpyD2S(to, from, bytes));
}
MOCK_API tpuError_t tpuMemcpyH2DAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return translate(tpuRtMemcpyS2DAsync(to, from, bytes, stream));
}
MOCK_API tpuError_t tpuMemcpyD2HAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return translate(tpuRtMemcpyD2SAsync(to, from, bytes, stream));
}
MOCK_API tpuError_t tpuMemcpyD2DAsync(void* to, const void* from, size_t bytes, tpuStream_t stream) {
    return translate(tpuRtMemcpyD2DAsync(to, from, bytes, stream));
}

MOCK_API tpuKernelModule_t tpuKernelModuleLoadFromFile(const char* path, tpuStream_t stream) {
    void* module = tpuRtKernelLoadModuleFile(path, stream);
    std::lock_guard<std::mutex> lock(mutex);
    handles()[streams()[stream]].module = module;
    return static_cast<tpuKernelModule_t>(module);
}

MOCK_API tpuKernelModule_t tpuKernelModuleLoad(const char*, size_t, tpuStream_t) {
    fatal("tpuv7: name the file of the stand-in in TPUKERNEL_FIRMWARE_PATH");
}
