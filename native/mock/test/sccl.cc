// What the TPU runtime, tpuDNN and SCCL refuse, and what ends the process. That they work is for the binding's tests.
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <future>

#include "../front/sccl/functions.h"
#include "../front/tpu/functions.h"
#include "../front/tpudnn/functions.h"
#include "runner.h"

using Context = ContextOf<scclUniqueId>;
using Case = CaseOf<scclUniqueId>;

namespace {

void use(int device) {
    OK(tpuInit());
    OK(tpuSetDevice(device));
}

tpuStream_t newStream() {
    tpuStream_t stream = nullptr;
    OK(tpuStreamCreate(&stream));
    return stream;
}

void* onDevice(size_t bytes) {
    void* memory = nullptr;
    OK(tpuMalloc(&memory, bytes));
    return memory;
}

/** On another thread, which then lasts as long as the process. */
void elsewhere(const std::function<void()>& body) {
    std::promise<void> done;
    std::thread([&] {
        body();
        done.set_value();
        for (;;) pause();
    }).detach();
    done.get_future().wait();
}

/** A rank with a handle on its chip. */
struct Rank {
    int rank;
    scclHandle_t handle;
    scclComm_t comm;

    explicit Rank(const Context& context) : rank(context.rank) {
        use(rank);
        handle = scclCreateHandle(rank);
        CHECK(handle != nullptr);
        OK(scclCommInitRank(&comm, context.size, context.id, rank, nullptr));
    }

    /** Room on the device, as SCCL wants its address. */
    void* room(size_t bytes) const { return scclPhysToVirt(handle, reinterpret_cast<uint64_t>(onDevice(bytes))); }

    scclResult_t reduce(uint64_t count = 8, scclDataType_t type = SCCL_DTYPE_FP32, int op = SCCL_REDUCE_SUM) const {
        void* x = room(64);
        return scclAllReduce(x, x, count, type, static_cast<scclReduceType_t>(op), comm, handle);
    }
};

void deviceOfThread(const Context&) {
    EXPECT(tpuErrorFailure, tpuSetDevice(0));
    OK(tpuInit());
    void* memory = nullptr;
    EXPECT(tpuErrorNoDevice, tpuMalloc(&memory, 8));
    EXPECT(tpuErrorInvalidDevice, tpuSetDevice(4));
    EXPECT(scclKernelError, scclSetupC2CTopology());
    use(1);
    scclHandle_t handle = scclCreateHandle(1);
    CHECK(handle != nullptr && scclCreateHandle(0) == nullptr);
    OK(scclSetupC2CTopology());
    tpuStream_t stream = newStream();
    elsewhere([&] {
        scclUniqueId id;
        EXPECT(tpuErrorNoDevice, tpuStreamSynchronize(stream));
        EXPECT(scclKernelError, scclGetUniqueId(handle, &id));
        EXPECT(TPUDNN_STATUS_FAILED, tpudnnFlush(handle));
        use(0);
        EXPECT(tpuErrorInvalidValue, tpuStreamSynchronize(stream));
    });
    CHECK(tpudnnHandleFromStream(1, stream, nullptr) == nullptr);
    tpuKernelModule_t module = tpuKernelModuleLoad("x", 1, stream);
    CHECK(tpudnnHandleFromStream(1, stream, module) != nullptr && tpudnnHandleFromStream(0, stream, module) == nullptr);
}

/** What the runtime of November 2024 does: the record of the device is shared by all threads. */
void endOfAThread(const Context&) {
    use(0);
    void* memory = onDevice(8);
    std::thread([] { use(0); }).join();
    tpuFree(memory);
}

void harmlessEndOfAThread(const Context&) {
    use(0);
    std::thread([] { use(0); }).join();
    onDevice(8);
}

void fullMemory(const Context&) {
    use(0);
    int local = 0;
    void* memory = &local;
    OK(tpuMalloc(&memory, size_t(1) << 40));
    CHECK(memory == nullptr);
}

void fullMemoryWithCode(const Context&) {
    use(0);
    void* memory = nullptr;
    EXPECT(tpuErrorOutOfMemory, tpuMalloc(&memory, size_t(1) << 40));
}

void silentFailure(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float host = 0;
    OK(tpuMemcpyH2DAsync(onDevice(4), &host, 4, stream));
    OK(tpuStreamSynchronize(stream));
}

void reportedFailure(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float host = 0;
    OK(tpuMemcpyH2DAsync(onDevice(4), &host, 4, stream));
    EXPECT(tpuErrorFailure, tpuStreamSynchronize(stream));
}

/** An event behind a copy to a bad address never passes, and no call fails. */
void badAddress(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float host[2] = {};
    tpuEvent_t event = nullptr;
    OK(tpuEventCreate(&event));
    OK(tpuMemcpyH2DAsync(onDevice(4), host, 8, stream));
    OK(tpuEventRecord(event, stream));
    usleep(100000);
    EXPECT(tpuErrorNoDevice, tpuEventQuery(event));
}

void noDeviceCrashes(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    std::thread([&] { tpuStreamSynchronize(stream); }).join();
}

/** With operations between them, any number of events may be pending. */
void bareEvents(const Context&) {
    use(0);
    float host = 0;
    void* memory = onDevice(4);
    tpuStream_t streams[] = {newStream(), newStream()};
    tpuEvent_t last[2];
    for (int bare = 0; bare < 2; ++bare) {
        OK(tpuMemcpyH2DAsync(memory, &host, 4, streams[bare]));
        for (int i = 0; i < 20; ++i) {
            if (bare == 0) OK(tpuMemcpyH2DAsync(memory, &host, 4, streams[bare]));
            OK(tpuEventCreate(&last[bare]));
            OK(tpuEventRecord(last[bare], streams[bare]));
        }
    }
    OK(tpuEventSynchronize(last[0]));
    usleep(300000);
    EXPECT(tpuErrorNoDevice, tpuEventQuery(last[1]));
}

void copies(const Context&) {
    use(0);
    float a[2] = {}, b[2] = {};
    void* x = onDevice(8);
    EXPECT(tpuErrorInvalidValue, tpuMemcpyH2D(a, b, 4));
    EXPECT(tpuErrorInvalidValue, tpuMemcpyD2H(a, x, 9));
    OK(tpuFree(x));
    EXPECT(tpuErrorInvalidValue, tpuFree(x));
}

void events(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    tpuEvent_t event = nullptr;
    OK(tpuEventCreate(&event));
    OK(tpuEventQuery(event));
    OK(tpuEventRecord(event, stream));
    // The stream that an event is destroyed with has to be the one it was recorded on.
    tpuEventDestroy(event, newStream());
}

void rings(const Context&) {
    use(0);
    int documented[][4] = {{7, 6, 2, 3}, {1, 0, 2, 3}, {1, 0, 4, 5}};
    for (auto& ring : documented) OK(tpudnnCheckChipMap(4, ring));
    int all[] = {0, 2, 6, 7, 3, 1, 5, 4}, made[8], none[] = {0, 1, 2, 3}, twice[] = {0, 0};
    OK(tpudnnCheckChipMap(8, all));
    OK(tpudnnGetC2CRing(8, made));
    OK(tpudnnCheckChipMap(8, made));
    EXPECT(TPUDNN_STATUS_FAILED, tpudnnCheckChipMap(4, none));
    EXPECT(TPUDNN_STATUS_FAILED, tpudnnCheckChipMap(2, twice));
}

void translatedToRuntime(const Context& context) {
    float host = 0;
    tpuMemcpyD2H(&host, Rank(context).room(4), 4);
}

void translatedTwice(const Context& context) {
    Rank r(context);
    scclPhysToVirt(r.handle, reinterpret_cast<uint64_t>(r.room(4)));
}

void hostTranslated(const Context& context) {
    float host = 0;
    scclPhysToVirt(Rank(context).handle, reinterpret_cast<uint64_t>(&host));
}

void communicatorArguments(const Context& context) {
    scclComm_t comm = nullptr;
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 0, context.id, 0, nullptr));
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 2, context.id, -1, nullptr));
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 2, context.id, 3, nullptr));
    OK(scclCommInitRank(&comm, 2, context.id, 2, nullptr));
    OK(scclCommDestroy(comm));
    OK(scclCommInitRank(&comm, 16, context.id, 15, nullptr));
    OK(scclCommDestroy(comm));
    OK(scclCommDestroy(nullptr));
    scclCommInitRank(&comm, 17, context.id, 0, nullptr);
}

void types(const Context& context) {
    Rank r(context);
    for (scclDataType_t type : {SCCL_DTYPE_INT64, SCCL_DTYPE_BOOL, SCCL_DTYPE_UINT16}) {
        EXPECT(scclKernelError, r.reduce(8, type));
    }
    OK(r.reduce(8, SCCL_DTYPE_BF16));
    std::thread([&] {
        EXPECT(scclKernelError, scclBroadcast(nullptr, 1, SCCL_DTYPE_FP32, 0, r.comm, r.handle));
    }).join();
    OK(tpudnnSync(r.handle));
}

void meanRefused(const Context& context) { Rank(context).reduce(8, SCCL_DTYPE_FP32, SCCL_REDUCE_MEAN); }
void typeRefused(const Context& context) { Rank(context).reduce(8, SCCL_DTYPE_UNKNOWN); }

void untranslated(const Context& context) {
    Rank r(context);
    void* x = onDevice(32);
    scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, r.comm, r.handle);
}

void overrun(const Context& context) {
    Rank r(context);
    OK(r.reduce(17));
    tpudnnSync(r.handle);
}

/** Every rank needs room for what only the root gets. */
void noScratch(const Context& context) {
    Rank r(context);
    void* all = r.rank == 0 ? r.room(64) : nullptr;
    scclGather(r.room(32), all, 8, SCCL_DTYPE_FP32, 0, r.comm, r.handle);
    if (r.rank == 0) std::abort();
}

void indivisible(const Context& context) {
    Rank r(context);
    scclAllToAll(r.room(36), r.room(36), 9, SCCL_DTYPE_FP32, r.comm, r.handle);
}

void zeroCount(const Context& context) { Rank(context).reduce(0); }

void inPlaceGather(const Context& context) {
    Rank r(context);
    void* x = r.room(64);
    scclAllGather(x, x, 8, SCCL_DTYPE_FP32, r.comm, r.handle);
}

void lone(const Context& context) { Rank(context).reduce(); }

void wrongChip(const Context& context) {
    Rank r(context);
    scclComm_t comm = nullptr;
    OK(scclCommInitRank(&comm, 2, context.id, 1, nullptr));
    void* x = r.room(32);
    scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, comm, r.handle);
}

void shortenedId(const Context& context) {
    Context other = context;
    std::memset(other.id.internal + 8, 0, sizeof other.id.internal - 8);
    Rank(other).reduce();
}

void neverFlushed(const Context& context) {
    Rank r(context);
    OK(r.reduce());
    scclDestoryHandle(r.handle);
}

/** Instructions wait in the handle, and another thread comes in between. */
void recordedBetween(const Context& context) {
    use(context.rank);
    tpuStream_t stream = newStream();
    scclHandle_t handle = tpudnnHandleFromStream(context.rank, stream, tpuKernelModuleLoad("x", 1, stream));
    scclComm_t comm = nullptr;
    OK(scclCommInitRank(&comm, context.size, context.id, context.rank, nullptr));
    tpuEvent_t event = nullptr;
    OK(tpuEventCreate(&event));
    void* x = scclPhysToVirt(handle, reinterpret_cast<uint64_t>(onDevice(32)));
    OK(scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, comm, handle));
    OK(tpuEventRecord(event, stream));
    OK(tpudnnFlush(handle));
    elsewhere([&] {
        use(context.rank);
        OK(tpuEventRecord(event, stream));
    });
    OK(scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, comm, handle));
    elsewhere([&] {
        use(context.rank);
        tpuEventRecord(event, stream);
    });
}

/** A wheel's directory has no libtpudnn.so by that name. */
void loadOrder(const Context&) {
    std::string wheel = std::string(std::getenv("MOCK_LIBRARIES")) + "/torch_tpu/lib/";
    CHECK(access((wheel + "libtpudnn.so").c_str(), F_OK) != 0);
    for (const char* name : {"libtpudnn.sg2260.so", "libtpurt.sg2260.so", "libsccl.so"}) {
        CHECK(dlopen((wheel + name).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
    }
}

/** The runtime of a chip; a variable that is set later is not heard. */
template <class Function>
Function runtimeOf(const char* chip, const char* function) {
    std::string file = std::string(std::getenv("MOCK_LIBRARIES")) + "/torch_tpu/lib/libtpurt." + chip + ".so";
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    return reinterpret_cast<Function>(dlsym(library, function));
}

void coresOfTheChip(const Context&) {
    using Init = tpuError_t (*)();
    OK(runtimeOf<Init>("sg2260", "tpuInit")());
    OK(runtimeOf<Init>("bm1684x", "tpuInit")());
    auto early = runtimeOf<Init>("sg2260e", "tpuInit");
    setenv("TPU_RT_CORE_NUM", "4", 1);
    EXPECT(tpuErrorFailure, early());
}

void coresSetInTime(const Context&) { OK(runtimeOf<tpuError_t (*)()>("sg2260e", "tpuInit")()); }

void kernelsOfTheChip(const Context&) {
    for (const char* chip : {"sg2260", "sg2260e", "bm1684x"}) {
        OK(runtimeOf<tpuError_t (*)()>(chip, "tpuInit")());
        OK(runtimeOf<tpuError_t (*)(int)>(chip, "tpuSetDevice")(0));
        tpuStream_t stream = nullptr;
        OK(runtimeOf<tpuError_t (*)(tpuStream_t*)>(chip, "tpuStreamCreate")(&stream));
        auto load = runtimeOf<tpuKernelModule_t (*)(const char*, size_t, tpuStream_t)>(chip, "tpuKernelModuleLoad");
        for (const char* other : {"sg2260", "sg2260e", "bm1684x"}) {
            std::string kernels = std::string("mock kernels for ") + other;
            CHECK((load(kernels.data(), kernels.size(), stream) != nullptr) == (std::strcmp(chip, other) == 0));
        }
    }
}

void olderLibrary(const Context&) {
    std::string directory = std::string(std::getenv("MOCK_LIBRARIES")) + "/sccl-2024-11/";
    void* tpudnn = dlopen((directory + "libtpudnn.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void* sccl = dlopen((directory + "libsccl.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(tpudnn != nullptr && sccl != nullptr);
    CHECK(dlsym(sccl, "scclAllReduce") != nullptr && dlsym(tpudnn, "tpudnnFlush") != nullptr);
    CHECK(dlsym(sccl, "scclDestoryHandle") == nullptr && dlsym(sccl, "scclSend") == nullptr);
    CHECK(dlsym(tpudnn, "tpudnnSync") == nullptr);
}

const std::vector<Case> cases{
    {"device of a thread", 1, {}, deviceOfThread},
    {"end of a thread", 1, {}, endOfAThread, SIGABRT},
    {"harmless end of a thread", 1, {"MOCK_TPU_THREAD_END=harmless"}, harmlessEndOfAThread},
    {"full memory", 1, {}, fullMemory},
    {"full memory with a code", 1, {"MOCK_TPU_NO_MEMORY=code"}, fullMemoryWithCode},
    {"silent failure", 1, {"MOCK_RUNTIME_TASK_FAIL_AT=1", "MOCK_TPU_KERNEL_FAILURE=silent"}, silentFailure},
    {"reported failure", 1, {"MOCK_RUNTIME_TASK_FAIL_AT=1"}, reportedFailure},
    {"bad address", 1, {"MOCK_TPU_BAD_ADDRESS=hangs"}, badAddress},
    {"no device crashes", 1, {"MOCK_TPU_NO_DEVICE=crashes"}, noDeviceCrashes, SIGABRT},
    {"bare events", 1, {"MOCK_TPU_BARE_EVENTS=10", "MOCK_DELAY_US=50000"}, bareEvents},
    {"copies", 1, {}, copies},
    {"event of another stream", 1, {}, events, SIGABRT},
    {"rings", 1, {"MOCK_DEVICES=8"}, rings},
    {"translated address to runtime", 1, {}, translatedToRuntime, SIGABRT},
    {"translated twice", 1, {}, translatedTwice, SIGABRT},
    {"host address translated", 1, {}, hostTranslated, SIGABRT},
    {"communicator arguments", 1, {}, communicatorArguments, SIGABRT},
    {"types of reductions", 2, {}, types},
    {"mean refused", 2, {}, meanRefused, SIGABRT},
    {"unknown type refused", 2, {}, typeRefused, SIGABRT},
    {"untranslated address", 2, {}, untranslated, SIGABRT},
    {"collective overruns", 2, {}, overrun, SIGABRT},
    {"no scratch buffer", 2, {}, noScratch, SIGABRT},
    {"total count indivisible", 2, {}, indivisible, SIGABRT},
    {"count of zero", 2, {}, zeroCount, SIGABRT},
    {"all-gather in place", 2, {}, inPlaceGather, SIGABRT},
    {"lone rank", 1, {}, lone, SIGABRT},
    {"rank on another chip", 1, {}, wrongChip, SIGABRT},
    {"no ring", 4, {"MOCK_SCCL_RING=1"}, lone, SIGABRT},
    {"shortened id", 2, {}, shortenedId, SIGABRT},
    {"never flushed", 2, {}, neverFlushed, SIGABRT},
    {"event between call and flush", 2, {}, recordedBetween, SIGABRT},
    {"load order", 1, {}, loadOrder},
    {"cores of the chip", 1, {}, coresOfTheChip},
    {"cores set in time", 1, {"TPU_RT_CORE_NUM=4"}, coresSetInTime},
    {"kernels of the chip", 1, {"TPU_RT_CORE_NUM=4"}, kernelsOfTheChip},
    {"older library", 1, {}, olderLibrary},
};

}  // namespace

int main(int count, char** arguments) {
    return Runner<scclUniqueId>::main(count, arguments, cases, [](scclUniqueId* id) {
        use(0);
        static scclHandle_t handle = scclCreateHandle(0);
        return scclGetUniqueId(handle, id) == scclSuccess;
    });
}
