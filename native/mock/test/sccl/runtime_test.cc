// The TPU runtime: device of each thread, memory, streams and events.
#include "harness.h"

namespace {

constexpr uint64_t n = 1000;

void deviceOfThread(const Context&) {
    int device = -1;
    EXPECT(tpuErrorFailure, tpuSetDevice(0));
    OK(tpuInit());
    EXPECT(tpuErrorNoDevice, tpuGetDevice(&device));
    void* memory = nullptr;
    EXPECT(tpuErrorNoDevice, tpuMalloc(&memory, 8));
    EXPECT(tpuErrorInvalidDevice, tpuSetDevice(4));
    use(1);
    scclHandle_t handle = scclCreateHandle(1);
    CHECK(handle != nullptr && scclCreateHandle(0) == nullptr);
    OK(scclSetupC2CTopology());
    tpuStream_t stream = newStream();
    std::thread([&] {
        scclUniqueId id;
        EXPECT(tpuErrorNoDevice, tpuStreamSynchronize(stream));
        EXPECT(scclKernelError, scclGetUniqueId(handle, &id));
        EXPECT(TPUDNN_STATUS_FAILED, tpudnnFlush(handle));
        use(0);
        EXPECT(tpuErrorInvalidValue, tpuStreamSynchronize(stream));
    }).join();
    OK(tpuGetDevice(&device));
    CHECK(device == 1);
}

void copies(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float* x = onDevice<float>(n);
    std::vector<float> host(n, 3.0f), back(n);
    OK(tpuMemcpyH2DAsync(x, host.data(), n * 4, stream));
    OK(tpuMemcpyD2HAsync(back.data(), x, n * 4, stream));
    OK(tpuStreamSynchronize(stream));
    CHECK(back[n - 1] == 3.0f);
    EXPECT(tpuErrorInvalidValue, tpuMemcpyH2D(host.data(), back.data(), 4));
    EXPECT(tpuErrorInvalidValue, tpuMemcpyD2H(host.data(), x, n * 4 + 1));
    size_t all = 0, available = 0, peak = 0;
    OK(tpuGetAllMemory(&all));
    OK(tpuGetFreeMemory(&available));
    OK(tpuGetPeakMemory(&peak));
    CHECK(available < all && peak >= n * 4);
    OK(tpuFree(x));
    EXPECT(tpuErrorInvalidValue, tpuFree(x));
}

/** Host memory is read when the stream comes to it, page-locked or not. */
void sourceReusedTooEarly(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float* x = onDevice<float>(1);
    float host = 1.0f;
    OK(mockTpuBusy(30000, stream));
    OK(tpuMemcpyH2DAsync(x, &host, 4, stream));
    host = 2.0f;
    OK(tpuStreamSynchronize(stream));
    CHECK(read(x, 1)[0] == 2.0f);
}

void events(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    tpuEvent_t event = newEvent();
    OK(tpuEventQuery(event));
    EXPECT(tpuErrorFailure, tpuStreamWaitEvent(stream, event));
    tpuEvent_t start = newEvent();
    OK(tpuEventRecord(start, stream));
    OK(mockTpuBusy(20000, stream));
    OK(tpuEventRecord(event, stream));
    EXPECT(2, tpuEventQuery(event));
    OK(tpuStreamWaitEvent(stream, event));
    EXPECT(tpuErrorInvalidValue, tpuStreamWaitEvent(newStream(), event));
    OK(tpuEventSynchronize(event));
    OK(tpuEventQuery(event));
    float milliseconds = 0;
    OK(tpuEventElapsedTime(&milliseconds, start, event));
    CHECK(milliseconds > 15.0f);
    OK(tpuEventDestroy(event, stream));
    OK(tpuEventDestroy(start, stream));
}

void crossStream(const Context&) {
    use(0);
    tpuStream_t a = newStream();
    tpuStream_t b = newStream();
    tpuEvent_t event = newEvent();
    float* x = onDevice<float>(n);
    OK(mockTpuBusy(5000, a));
    OK(mockTpuFill(x, 4.0f, n, a));
    OK(tpuEventRecord(event, a));
    OK(tpuStreamWaitEvent(b, event));
    OK(tpuStreamSynchronize(b));
    CHECK(read(x, n)[0] == 4.0f);
}

void eventOutlivesStream(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    tpuEvent_t event = newEvent();
    OK(tpuEventRecord(event, stream));
    OK(tpuStreamDestroy(stream));
    tpuEventDestroy(event, stream);
}

void eventOfOtherStream(const Context&) {
    use(0);
    tpuEvent_t event = newEvent();
    OK(tpuEventRecord(event, newStream()));
    tpuEventDestroy(event, newStream());
}

void graphs(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    float* x = onDevice<float>(n);
    tpuGraph_t graph = nullptr;
    tpuGraphExec_t executable = nullptr;
    OK(tpuStreamBeginCapture(stream));
    OK(mockTpuFill(x, 6.0f, n, stream));
    OK(tpuStreamEndCapture(stream, &graph));
    OK(tpuGraphInstantiate(&executable, graph, nullptr));
    OK(tpuGraphLaunch(executable, stream));
    OK(tpuStreamSynchronize(stream));
    CHECK(read(x, n)[5] == 6.0f);
    OK(tpuGraphExecDestroy(executable));
    OK(tpuGraphDestroy(graph));
}

void topology(const Context&) {
    use(0);
    tpuTopology_t table[16];
    OK(tpuSetupTopology());
    OK(tpuGetTopology(reinterpret_cast<tpuTopology_t**>(table)));
    CHECK(table[1].parent_port == 0 && table[3].parent_port == -1 && table[15].device_num == 4);
    int good[] = {1, 0, 2, 3}, bad[] = {0, 1, 2, 3}, twice[] = {0, 0}, ring[4];
    OK(tpudnnCheckChipMap(4, good));
    EXPECT(TPUDNN_STATUS_FAILED, tpudnnCheckChipMap(4, bad));
    EXPECT(TPUDNN_STATUS_FAILED, tpudnnCheckChipMap(2, twice));
    OK(tpudnnGetC2CRing(4, ring));
    OK(tpudnnCheckChipMap(4, ring));
}

void documentedRings(const Context&) {
    use(0);
    int rings[][4] = {{7, 6, 2, 3}, {1, 0, 2, 3}, {1, 0, 4, 5}};
    for (auto& ring : rings) OK(tpudnnCheckChipMap(4, ring));
    int all[] = {0, 2, 6, 7, 3, 1, 5, 4};
    OK(tpudnnCheckChipMap(8, all));
    int made[8];
    OK(tpudnnGetC2CRing(8, made));
    OK(tpudnnCheckChipMap(8, made));
}

void translatedToRuntime(const Context&) {
    use(0);
    scclHandle_t handle = scclCreateHandle(0);
    float* x = onDevice<float>(1);
    float host = 0;
    void* virt = scclPhysToVirt(handle, reinterpret_cast<uint64_t>(x));
    CHECK(virt != x && tpudnnVirtToPhys(handle, virt) == reinterpret_cast<uint64_t>(x));
    tpuMemcpyD2H(&host, virt, 4);
}

void translatedTwice(const Context&) {
    use(0);
    scclHandle_t handle = scclCreateHandle(0);
    void* virt = scclPhysToVirt(handle, reinterpret_cast<uint64_t>(onDevice<float>(1)));
    scclPhysToVirt(handle, reinterpret_cast<uint64_t>(virt));
}

void hostTranslated(const Context&) {
    use(0);
    float host = 0;
    scclPhysToVirt(scclCreateHandle(0), reinterpret_cast<uint64_t>(&host));
}

void handles(const Context&) {
    use(0);
    tpuStream_t stream = newStream();
    CHECK(tpudnnHandleFromStream(0, stream, nullptr) == nullptr);
    tpuKernelModule_t module = tpuKernelModuleLoad("x", 1, stream);
    tpudnnHandle_t handle = tpudnnHandleFromStream(0, stream, module);
    CHECK(handle != nullptr && tpudnnHandleFromStream(1, stream, module) == nullptr);
    OK(tpuKernelUnloadModule(module, stream));
    OK(tpuStreamDestroy(stream));
    tpudnnDestroy(handle);
    tpudnnDestroy(handle);
}

}  // namespace

void addRuntimeCases(std::vector<Case>& cases) {
    cases.push_back({"device of a thread", 1, {}, deviceOfThread});
    cases.push_back({"copies", 1, {"MOCK_DELAY_US=200"}, copies});
    cases.push_back({"source reused too early", 1, {}, sourceReusedTooEarly});
    cases.push_back({"events", 1, {}, events});
    cases.push_back({"wait across streams", 1, {"MOCK_TPU_CROSS_STREAM_WAIT=1"}, crossStream});
    cases.push_back({"event outlives its stream", 1, {}, eventOutlivesStream, SIGABRT});
    cases.push_back({"event of another stream", 1, {}, eventOfOtherStream, SIGABRT});
    cases.push_back({"graphs", 1, {}, graphs});
    cases.push_back({"topology", 1, {}, topology});
    cases.push_back({"documented rings", 1, {"MOCK_DEVICES=8"}, documentedRings});
    cases.push_back({"translated address to runtime", 1, {}, translatedToRuntime, SIGABRT});
    cases.push_back({"translated twice", 1, {}, translatedTwice, SIGABRT});
    cases.push_back({"host address translated", 1, {}, hostTranslated, SIGABRT});
    cases.push_back({"handles", 1, {}, handles, SIGABRT});
}
