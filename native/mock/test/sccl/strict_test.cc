// What the libraries check, what ends the process, and injected faults.
#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "harness.h"

namespace {

scclResult_t reduceOn(const Rank& r, scclDataType_t type = SCCL_DTYPE_FP32, int op = SCCL_REDUCE_SUM) {
    void* x = r.virt(onDevice<double>(8));
    return scclAllReduce(x, x, 8, type, static_cast<scclReduceType_t>(op), r.comm, r.handle);
}

void initArguments(const Context& context) {
    scclComm_t comm = nullptr;
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 0, context.id, 0, nullptr));
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 2, context.id, -1, nullptr));
    EXPECT(scclInvalidArgument, scclCommInitRank(&comm, 2, context.id, 3, nullptr));
    OK(scclCommInitRank(&comm, 2, context.id, 2, nullptr));
    EXPECT(scclInvalidArgument, scclCommDestroy(comm));
    OK(scclCommInitRank(&comm, 16, context.id, 15, nullptr));
    OK(scclCommDestroy(comm));
    OK(scclCommDestroy(nullptr));
    scclCommInitRank(&comm, 17, context.id, 0, nullptr);
}

void types(const Context& context) {
    Rank r(context);
    EXPECT(scclKernelError, reduceOn(r, SCCL_DTYPE_INT64));
    EXPECT(scclKernelError, reduceOn(r, SCCL_DTYPE_BOOL));
    EXPECT(scclKernelError, reduceOn(r, SCCL_DTYPE_UINT16));
    OK(reduceOn(r, SCCL_DTYPE_BF16));
    std::thread([&] {
        EXPECT(scclKernelError, scclBroadcast(nullptr, 1, SCCL_DTYPE_FP32, 0, r.comm, r.handle));
    }).join();
    OK(tpudnnSync(r.handle));
}

void refusalsAnswered(const Context& context) {
    Rank r(context);
    EXPECT(scclInvalidArgument, reduceOn(r, SCCL_DTYPE_UNKNOWN));
    EXPECT(scclInvalidArgument, reduceOn(r, SCCL_DTYPE_FP32, SCCL_REDUCE_MEAN));
}

void meanRefused(const Context& context) { reduceOn(Rank(context), SCCL_DTYPE_FP32, SCCL_REDUCE_MEAN); }

void untranslated(const Context& context) {
    Rank r(context);
    float* x = onDevice<float>(8);
    scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, r.comm, r.handle);
}

void overrun(const Context& context) {
    Rank r(context);
    void* x = r.virt(onDevice<float>(8));
    OK(scclAllReduce(x, x, 9, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, r.comm, r.handle));
    tpudnnSync(r.handle);
}

/** Every rank needs room for what only the root gets. */
void noScratch(const Context& context) {
    Rank r(context);
    float* x = onDevice<float>(8);
    void* all = r.rank == 0 ? r.virt(onDevice<float>(16)) : nullptr;
    scclGather(r.virt(x), all, 8, SCCL_DTYPE_FP32, 0, r.comm, r.handle);
    if (r.rank == 0) std::abort();
}

void indivisible(const Context& context) {
    Rank r(context);
    void* x = r.virt(onDevice<float>(9));
    scclAllToAll(x, r.virt(onDevice<float>(9)), 9, SCCL_DTYPE_FP32, r.comm, r.handle);
}

void zeroCount(const Context& context) {
    Rank r(context);
    void* x = r.virt(onDevice<float>(1));
    scclBroadcast(x, 0, SCCL_DTYPE_FP32, 0, r.comm, r.handle);
}

void inPlaceGather(const Context& context) {
    Rank r(context);
    float* x = onDevice<float>(16);
    scclAllGather(r.virt(x), r.virt(x), 8, SCCL_DTYPE_FP32, r.comm, r.handle);
}

void loneRank(const Context& context) { reduceOn(Rank(context)); }

void wrongChip(const Context& context) {
    use(1);
    scclHandle_t handle = scclCreateHandle(1);
    scclComm_t comm = nullptr;
    OK(scclCommInitRank(&comm, 2, context.id, 0, nullptr));
    void* x = scclPhysToVirt(handle, reinterpret_cast<uint64_t>(onDevice<float>(8)));
    scclAllReduce(x, x, 8, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, comm, handle);
}

void noRing(const Context& context) { reduceOn(Rank(context)); }

void shortenedId(const Context& context) {
    Context other = context;
    std::memset(other.id.internal + 8, 0, sizeof other.id.internal - 8);
    reduceOn(Rank(other));
}

void neverFlushed(const Context& context) {
    Rank r(context);
    OK(reduceOn(r));
    scclDestoryHandle(r.handle);
}

void failAt(const Context& context) {
    Rank r(context);
    OK(reduceOn(r));
    EXPECT(r.rank == 1 ? scclKernelError : scclSuccess, reduceOn(r));
}

void hangAt(const Context& context) {
    Rank r(context);
    OK(reduceOn(r));
    OK(tpudnnSync(r.handle));
    OK(reduceOn(r));
    OK(tpudnnFlush(r.handle));
    std::atomic<bool> over{false};
    std::thread([&] {
        use(r.rank);
        tpudnnSync(r.handle);
        over = true;
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(!over);
}

void slowRank(const Context& context) {
    Rank r(context);
    auto start = std::chrono::steady_clock::now();
    OK(reduceOn(r));
    OK(tpudnnSync(r.handle));
    CHECK(std::chrono::steady_clock::now() - start > std::chrono::milliseconds(80));
}

void mismatch(const Context& context) {
    Rank r(context);
    void* x = r.virt(onDevice<float>(8));
    OK(scclBroadcast(x, static_cast<uint64_t>(r.rank + 1), SCCL_DTYPE_FP32, 0, r.comm, r.handle));
    tpudnnSync(r.handle);
    std::abort();
}

/** A wheel's directory has no libtpudnn.so by that name. */
void loadOrder(const Context&) {
    std::string wheel = std::string(std::getenv("MOCK_LIBRARIES")) + "/torch_tpu/lib/";
    CHECK(access((wheel + "libtpudnn.so").c_str(), F_OK) != 0);
    for (const char* name : {"libtpudnn.sg2260.so", "libtpurt.sg2260.so", "libsccl.so"}) {
        CHECK(dlopen((wheel + name).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
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

void absent(const Context&) {
    for (const char* name :
         {"scclReduceScatter", "scclGroupStart", "scclCommAbort", "scclCommGetAsyncError", "scclGetErrorString",
          "scclCommCount", "scclDestroyHandle", "tpuStreamQuery", "tpuDeviceSynchronize"}) {
        CHECK(dlsym(RTLD_DEFAULT, name) == nullptr);
    }
}

}  // namespace

void addStrictCases(std::vector<Case>& cases) {
    cases.push_back({"communicator arguments", 1, {}, initArguments, SIGABRT});
    cases.push_back({"types of reductions", 2, {}, types});
    cases.push_back({"refusals answered", 2, {"MOCK_SCCL_REFUSAL=error"}, refusalsAnswered});
    cases.push_back({"mean refused", 2, {}, meanRefused, SIGABRT});
    cases.push_back({"mean refused by exception", 2, {"MOCK_SCCL_REFUSAL=throw"}, meanRefused, SIGABRT});
    cases.push_back({"untranslated address", 2, {}, untranslated, SIGABRT});
    cases.push_back({"collective overruns", 2, {}, overrun, SIGABRT});
    cases.push_back({"no scratch buffer", 2, {}, noScratch, SIGABRT});
    cases.push_back({"total count indivisible", 2, {}, indivisible, SIGABRT});
    cases.push_back({"count of zero", 2, {}, zeroCount, SIGABRT});
    cases.push_back({"all-gather in place", 2, {}, inPlaceGather, SIGABRT});
    cases.push_back({"lone rank", 1, {}, loneRank, SIGABRT});
    cases.push_back({"rank on another chip", 1, {}, wrongChip, SIGABRT});
    cases.push_back({"no ring", 4, {"MOCK_SCCL_RING=1"}, noRing, SIGABRT});
    cases.push_back({"shortened id", 2, {}, shortenedId, SIGABRT});
    cases.push_back({"never flushed", 2, {}, neverFlushed, SIGABRT});
    cases.push_back({"fail at", 2, {"MOCK_SCCL_FAIL_AT=2", "MOCK_SCCL_FAULT_RANK=1"}, failAt});
    cases.push_back({"hang at", 2, {"MOCK_SCCL_HANG_AT=2", "MOCK_SCCL_FAULT_RANK=0"}, hangAt});
    cases.push_back({"slow rank", 2, {"MOCK_SCCL_SLOW_RANK=1:100000"}, slowRank});
    cases.push_back({"mismatch", 2, {"MOCK_SCCL_MISMATCH=abort"}, mismatch, SIGABRT});
    cases.push_back({"load order", 1, {}, loadOrder});
    cases.push_back({"older library", 1, {}, olderLibrary});
    cases.push_back({"absent functions", 1, {}, absent});
}
