// Life of communicators: dividing, ending, faults.
#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

#include "harness.h"

namespace {

constexpr size_t n = 1024;

ncclComm_t join(const Context& context, int device) {
    OK(cudaSetDevice(device));
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
    return comm;
}

ncclComm_t join(const Context& context) { return join(context, context.rank); }

void sumTo(ncclComm_t comm, float want) {
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(std::vector<float>(n, 1.0f));
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    CHECK(fetch(x, n, stream)[n - 1] == want);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
}

ncclConfig_t config() {
    ncclConfig_t result;
    std::memset(&result, 0, sizeof result);
    result.size = sizeof result;
    result.magic = NCCL_API_MAGIC;
    result.version = 22903;
    for (int* field : {&result.blocking, &result.cgaClusterSize, &result.minCTAs, &result.maxCTAs, &result.splitShare,
                       &result.trafficClass}) {
        *field = INT_MIN;
    }
    return result;
}

ncclResult_t stateOf(ncclComm_t comm) {
    ncclResult_t state;
    OK(ncclCommGetAsyncError(comm, &state));
    return state;
}

ncclResult_t settle(ncclComm_t comm) {
    while (stateOf(comm) == ncclInProgress) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return stateOf(comm);
}

void waitForState(ncclComm_t comm, int state) {
    while (stateOf(comm) != state) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void split(const Context& context) {
    ncclComm_t comm = join(context);
    int value = -1;
    OK(ncclCommCount(comm, &value));
    CHECK(value == 4);
    OK(ncclCommCuDevice(comm, &value));
    CHECK(value == context.rank);
    ncclComm_t half;
    // The key turns the order around.
    OK(ncclCommSplit(comm, context.rank % 2, -context.rank, &half, nullptr));
    OK(ncclCommUserRank(half, &value));
    CHECK(value == (context.rank < 2 ? 1 : 0));
    sumTo(half, 2.0f);
    sumTo(comm, 4.0f);
    for (int round = 0; round < 5; ++round) {
        ncclComm_t some;
        bool member = context.rank != round % 4;
        OK(ncclCommSplit(comm, member ? 7 : NCCL_SPLIT_NOCOLOR, 0, &some, nullptr));
        CHECK(member == (some != nullptr));
        if (member) sumTo(some, 3.0f);
        OK(ncclCommDestroy(some));
    }
    EXPECT(ncclInvalidArgument, ncclCommSplit(comm, -2, 0, &half, nullptr));
    OK(ncclCommFinalize(comm));
    EXPECT(ncclInvalidArgument, ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    EXPECT(ncclInvalidArgument, ncclCommDestroy(comm));
    OK(ncclCommDestroy(nullptr));
}

void shrink(const Context& context) {
    ncclComm_t comm = join(context);
    ncclComm_t small = nullptr;
    int excluded[] = {1};
    if (context.rank != 1) {
        // The others are stuck in a collective that rank 1 never joins.
        cudaStream_t stream = newStream();
        float* x = onDevice<float>(n);
        OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
        OK(ncclCommShrink(comm, excluded, 1, &small, nullptr, NCCL_SHRINK_ABORT));
        OK(cudaStreamSynchronize(stream));
        int rank = -1;
        OK(ncclCommUserRank(small, &rank));
        CHECK(rank == (context.rank == 0 ? 0 : 1));
        sumTo(small, 2.0f);
        EXPECT(ncclInvalidUsage, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    }
    OK(ncclCommAbort(comm));
    if (context.rank == 1) return;
    ncclUniqueId id;
    OK(ncclCommGetUniqueId(small, &id));
    ncclComm_t odd;
    EXPECT(ncclInvalidArgument, ncclCommGrow(small, 2, &id, -1, &odd, nullptr));
    OK(ncclCommDestroy(small));
}

void grow(const Context&) {
    ncclComm_t pair[2];
    OK(ncclCommInitAll(pair, 2, nullptr));
    ncclUniqueId id;
    OK(ncclCommGetUniqueId(pair[0], &id));
    ncclComm_t grown[3];
    OK(cudaSetDevice(2));
    OK(ncclGroupStart());
    OK(ncclCommGrow(pair[0], 3, &id, -1, &grown[0], nullptr));
    OK(ncclCommGrow(pair[1], 3, nullptr, -1, &grown[1], nullptr));
    OK(ncclCommGrow(nullptr, 3, &id, 2, &grown[2], nullptr));
    OK(ncclGroupEnd());
    std::vector<std::thread> ranks;
    for (int i = 0; i < 3; ++i) {
        ranks.emplace_back([&, i] {
            OK(cudaSetDevice(i));
            sumTo(grown[i], 3.0f);
        });
    }
    for (std::thread& thread : ranks) thread.join();
}

void arguments(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    float host[4];
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, nullptr, stream));
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, 1, comm, stream));
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, -1, comm, stream));
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x, n, static_cast<ncclDataType_t>(12), ncclSum, comm, stream));
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x, n, ncclFloat32, static_cast<ncclRedOp_t>(5), comm, stream));
    EXPECT(ncclInvalidArgument, ncclAllReduce(host, x, 4, ncclFloat32, ncclSum, comm, stream));
    EXPECT(ncclInvalidArgument, ncclAllReduce(nullptr, x, 4, ncclFloat32, ncclSum, comm, stream));
    EXPECT(ncclInvalidArgument, ncclAllReduce(x, x, n, ncclFloat8e4m3, ncclSum, comm, stream));
    OK(ncclBroadcast(x, x, n, ncclFloat8e4m3, 0, comm, stream));
    OK(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, stream));
    EXPECT(ncclUnhandledCudaError,
           ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, reinterpret_cast<cudaStream_t>(x)));
    EXPECT(ncclInvalidUsage, ncclSend(x, n, ncclFloat32, 0, comm, stream));
    EXPECT(ncclInvalidUsage, ncclGroupEnd());
    OK(ncclGroupStart());
    EXPECT(ncclInvalidArgument, ncclBroadcast(x, x, n, ncclFloat32, 9, comm, stream));
    EXPECT(ncclInvalidArgument, ncclGroupEnd());

    ncclComm_t other;
    ncclUniqueId id;
    OK(ncclGetUniqueId(&id));
    ncclConfig_t bad = config();
    bad.magic = 1;
    EXPECT(ncclInvalidArgument, ncclCommInitRankConfig(&other, 1, id, 0, &bad));
    CHECK(other == nullptr);
    bad = config();
    bad.minCTAs = 4;
    EXPECT(ncclInvalidArgument, ncclCommInitRankConfig(&other, 1, id, 0, &bad));
    bad.maxCTAs = 2;
    EXPECT(ncclInvalidArgument, ncclCommInitRankConfig(&other, 1, id, 0, &bad));
    EXPECT(ncclInvalidArgument, ncclCommInitRank(&other, 1, id, 1));
    ncclConfig_t good = config();
    OK(ncclCommInitRankConfig(&other, 1, id, 0, &good));
    EXPECT(ncclSystemError, ncclCommInitRank(&other, 1, id, 0));

    void* memory;
    void* handle;
    OK(ncclMemAlloc(&memory, 4096));
    OK(ncclCommRegister(comm, memory, 4096, &handle));
    OK(ncclCommDeregister(comm, handle));
    EXPECT(ncclInvalidArgument, ncclCommDeregister(comm, handle));
    OK(ncclMemFree(memory));
    EXPECT(ncclUnhandledCudaError, ncclMemFree(memory));
}

void rangeOverrun(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    OK(ncclAllReduce(onDevice<float>(n), onDevice<float>(n), n + 1, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
}

/** Rank 0 waits in vain; the others never come. */
void abortStuck(const Context& context) {
    ncclComm_t comm = join(context);
    if (context.rank != 0) return;
    cudaStream_t stream = newStream();
    cudaEvent_t event = newEvent();
    float* x = onDevice<float>(n);
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    OK(cudaEventRecord(event, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    OK(ncclCommAbort(comm));
    OK(cudaEventSynchronize(event));
    ncclResult_t state;
    EXPECT(ncclInvalidArgument, ncclCommGetAsyncError(comm, &state));
}

void revoked(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    if (context.rank == 0) OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    EXPECT(ncclInvalidArgument, ncclCommRevoke(comm, 1));
    OK(ncclCommRevoke(comm, 0));
    OK(cudaStreamSynchronize(stream));
    EXPECT(ncclInvalidUsage, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    EXPECT(ncclInvalidUsage, ncclCommFinalize(comm));
    ncclComm_t again;
    OK(ncclCommSplit(comm, 0, 0, &again, nullptr));
    sumTo(again, 2.0f);
    OK(ncclCommDestroy(comm));
}

void mismatch(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    OK(ncclAllReduce(x, x, n - static_cast<size_t>(context.rank), ncclFloat32, ncclSum, comm, stream));
    waitForState(comm, ncclInvalidUsage);
    OK(ncclCommAbort(comm));
    OK(cudaStreamSynchronize(stream));
}

void mismatchHangs(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    if (context.rank == 0) {
        OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    } else {
        OK(ncclAllGather(x, onDevice<float>(2 * n), n, ncclFloat32, comm, stream));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT(ncclSuccess, stateOf(comm));
    OK(ncclCommAbort(comm));
    OK(cudaStreamSynchronize(stream));
}

void failAt(const Context& context) {
    ncclComm_t comm = join(context);
    sumTo(comm, static_cast<float>(context.size));
    float* x = onDevice<float>(n);
    if (context.rank == 1) {
        EXPECT(ncclSystemError, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, newStream()));
    }
    sumTo(comm, static_cast<float>(context.size));
}

void asyncFailAt(const Context& context) {
    ncclComm_t comm = join(context);
    sumTo(comm, 2.0f);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    if (context.rank == 0) {
        waitForState(comm, ncclRemoteError);
        EXPECT(ncclRemoteError, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    }
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    // The other rank only sees that nothing moves.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    OK(ncclCommAbort(comm));
    OK(cudaStreamSynchronize(stream));
}

void hangAt(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT(ncclSuccess, stateOf(comm));
    OK(ncclCommAbort(comm));
    OK(cudaStreamSynchronize(stream));
}

void slowRank(const Context& context) {
    ncclComm_t comm = join(context);
    auto start = std::chrono::steady_clock::now();
    sumTo(comm, 2.0f);
    // Only the slow rank's own clock surely runs through all of the delay.
    bool late = std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(100);
    CHECK(late || context.rank == 0);
}

void peerDies(const Context& context) {
    ncclComm_t comm = join(context);
    sumTo(comm, 2.0f);
    if (context.rank == 1) _exit(0);
    float* x = onDevice<float>(n);
    cudaStream_t stream = newStream();
    OK(ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    waitForState(comm, ncclRemoteError);
    OK(ncclCommAbort(comm));
}

void nonBlocking(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclConfig_t own = config();
    own.blocking = 0;
    ncclComm_t comm;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&comm, context.size, context.id, context.rank, &own));
    CHECK(settle(comm) == ncclSuccess);
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(std::vector<float>(n, 1.0f));
    EXPECT(ncclInProgress, ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream));
    CHECK(settle(comm) == ncclSuccess);
    CHECK(fetch(x, n, stream)[0] == 2.0f);
    ncclComm_t child;
    EXPECT(ncclInProgress, ncclCommSplit(comm, 0, 0, &child, nullptr));
    CHECK(settle(comm) == ncclSuccess && child != nullptr);
    EXPECT(ncclInProgress, ncclCommFinalize(comm));
    CHECK(settle(comm) == ncclSuccess);
    OK(ncclCommDestroy(comm));
}

void abortDuringInit(const Context& context) {
    OK(cudaSetDevice(0));
    ncclConfig_t own = config();
    own.blocking = 0;
    ncclComm_t comm;
    EXPECT(ncclInProgress, ncclCommInitRankConfig(&comm, 2, context.id, 0, &own));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT(ncclInProgress, stateOf(comm));
    EXPECT(ncclInvalidArgument, ncclAllReduce(comm, comm, 1, ncclFloat32, ncclSum, comm, nullptr));
    OK(ncclCommAbort(comm));
}

void duplicate(const Context& context) {
    OK(cudaSetDevice(0));
    ncclComm_t comm;
    EXPECT(ncclInvalidUsage, ncclCommInitRank(&comm, context.size, context.id, context.rank));
    CHECK(comm == nullptr);
    int devices[] = {1, 1};
    ncclComm_t comms[2];
    EXPECT(ncclInvalidUsage, ncclCommInitAll(comms, 2, devices));
}

void noDevice(const Context& context) {
    int count = -1;
    EXPECT(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    CHECK(count == 0);
    EXPECT(cudaErrorNoDevice, cudaStreamSynchronize(nullptr));
    ncclComm_t comm;
    EXPECT(ncclUnhandledCudaError, ncclCommInitRank(&comm, 1, context.id, 0));
    void* memory;
    EXPECT(ncclUnhandledCudaError, ncclMemAlloc(&memory, 16));
}

void sharedDevice(const Context& context) { sumTo(join(context, 0), 2.0f); }

void versionsDiffer(const Context& context) {
    ncclComm_t comm;
    OK(cudaSetDevice(context.rank));
    EXPECT(ncclInvalidUsage, ncclCommInitRank(&comm, context.size, context.id, context.rank));
}

void olderLibrary(const Context&) {
    void* library = dlopen((std::string(std::getenv("MOCK_LIBRARIES")) + "/nccl-2.28.9/libnccl.so.2").c_str(),
                           RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    auto* version = reinterpret_cast<ncclResult_t (*)(int*)>(dlsym(library, "ncclGetVersion"));
    int code = 0;
    OK(version(&code));
    CHECK(code == 22809);
    CHECK(dlsym(library, "ncclCommGrow") == nullptr && dlsym(library, "ncclAlltoAll") != nullptr);
    OK(ncclGetVersion(&code));
    CHECK(code == 22903);
}

/** The caller's cost of what a stream engine does for one asynchronous collective; less than one queue at a time. */
void callCost(const Context& context) {
    ncclComm_t comm = join(context);
    cudaStream_t stream = newStream();
    cudaStream_t user = newStream();
    cudaEvent_t before = newEvent();
    cudaEvent_t after = newEvent();
    float* x = onDevice<float>(std::vector<float>(1, 1.0f));
    constexpr int calls = 400;
    double best = 1e9;
    for (int round = 0; round < 50; ++round) {
        auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i) {
            OK(cudaEventRecord(before, user));
            OK(cudaStreamWaitEvent(stream, before, 0));
            OK(ncclAllReduce(x, x, 1, ncclFloat32, ncclSum, comm, stream));
            OK(cudaEventRecord(after, stream));
            OK(cudaStreamWaitEvent(user, after, 0));
        }
        std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
        best = std::min(best, time.count() / calls);
        OK(cudaStreamSynchronize(user));
    }
    CHECK(fetch(x, 1, user)[0] == 1.0f);
    std::fprintf(stderr, "  record, wait, allReduce, record, wait: %.0f ns\n", best);
}

}  // namespace

void addCommunicatorCases(std::vector<Case>& cases) {
    const std::string delay = "MOCK_DELAY_US=100";
    cases.push_back({"split", 4, {delay}, split});
    cases.push_back({"shrink", 3, {}, shrink});
    cases.push_back({"grow", 1, {}, grow});
    cases.push_back({"communicator arguments", 1, {"MOCK_COMPUTE_CAPABILITY=80"}, arguments});
    cases.push_back({"collective overruns", 1, {}, rangeOverrun, SIGABRT});
    cases.push_back({"abort a stuck collective", 2, {}, abortStuck});
    cases.push_back({"revoke", 2, {}, revoked});
    cases.push_back({"mismatch reported", 2, {"MOCK_NCCL_MISMATCH=error"}, mismatch});
    cases.push_back({"mismatch hangs", 2, {}, mismatchHangs});
    cases.push_back({"fail at", 2, {"MOCK_NCCL_FAIL_AT=2:2", "MOCK_NCCL_FAULT_RANK=1"}, failAt});
    cases.push_back({"asynchronous error at", 2, {"MOCK_NCCL_ASYNC_FAIL_AT=2", "MOCK_NCCL_FAULT_RANK=0"}, asyncFailAt});
    cases.push_back({"hang at", 2, {"MOCK_NCCL_HANG_AT=1"}, hangAt});
    cases.push_back({"slow rank", 2, {"MOCK_NCCL_SLOW_RANK=1:100000"}, slowRank});
    cases.push_back({"peer dies", 2, {"MOCK_NCCL_PEER_DEATH=error"}, peerDies});
    cases.push_back({"non-blocking", 2, {delay}, nonBlocking});
    cases.push_back({"abort during init", 1, {}, abortDuringInit});
    cases.push_back({"duplicate device", 2, {}, duplicate});
    cases.push_back({"no device", 1, {"MOCK_DEVICES=0"}, noDevice});
    cases.push_back({"distinct host ids", 2, {}, sharedDevice, 0, {"0 NCCL_HOSTID=a", "1 NCCL_HOSTID=b"}});
    cases.push_back(
        {"several ranks a device", 2, {"MOCK_NCCL_VERSION=23007", "NCCL_MULTI_RANK_GPU_ENABLE=1"}, sharedDevice});
    cases.push_back({"versions differ", 2, {}, versionsDiffer, 0, {"1 MOCK_NCCL_VERSION=22809"}});
    cases.push_back({"older library", 1, {}, olderLibrary});
    cases.push_back({"call cost", 1, {}, callCost});
    cases.push_back({"call cost, inline", 1, {"MOCK_INLINE=1"}, callCost});
}
