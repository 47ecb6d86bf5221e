// Memory, streams and events.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "harness.h"

namespace {

constexpr uint64_t n = 1000;

/** One producer and one consumer stream; true when the consumer saw the producer's data. */
bool handOver(bool wait) {
    cudaStream_t a = newStream();
    cudaStream_t b = newStream();
    cudaEvent_t event = newEvent();
    float* x = onDevice<float>(n);
    float* y = onDevice<float>(std::vector<float>(n, 1.0f));
    launchFill(x, 3.0f, n, a);
    OK(cudaEventRecord(event, a));
    if (wait) OK(cudaStreamWaitEvent(b, event, 0));
    launchAxpy(y, x, 2.0f, n, b);
    std::vector<float> result = fetch(y, n, b);
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaEventDestroy(event));
    OK(cudaFree(x));
    OK(cudaFree(y));
    return result == std::vector<float>(n, 7.0f);
}

void waits(const Context&) {
    for (int i = 0; i < 50; ++i) CHECK(handOver(true));
}

void missingWait(const Context&) {
    int wrong = 0;
    for (int i = 0; i < 50; ++i) wrong += !handOver(false);
    CHECK(wrong > 0);
}

void events(const Context&) {
    cudaStream_t stream = newStream();
    cudaStream_t other = newStream();
    cudaEvent_t event = newEvent();
    EXPECT(cudaSuccess, cudaEventQuery(event));
    OK(cudaEventSynchronize(event));
    OK(cudaStreamWaitEvent(stream, event, 0));
    launchBusy(300000, stream);
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    EXPECT(cudaErrorNotReady, cudaGetLastError());
    // The wait is for the record of now, not for the later one.
    OK(cudaStreamWaitEvent(other, event, 0));
    launchBusy(8000000, stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamSynchronize(other));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));

    cudaEvent_t first, second;
    OK(cudaEventCreate(&first));
    OK(cudaEventCreate(&second));
    float time = 0;
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, first, second));
    OK(cudaEventRecord(first, other));
    launchBusy(2000, other);
    OK(cudaEventRecord(second, other));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, event, second));
    OK(cudaEventSynchronize(second));
    OK(cudaEventElapsedTime(&time, first, second));
    CHECK(time >= 2.0f && time < 5000.0f);
    OK(cudaEventDestroy(first));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventQuery(first));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr, stream));
}

void arguments(const Context&) {
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 4);
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(4));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaSetDevice(2));
    int other = -1;
    std::thread([&] { cudaGetDevice(&other); }).join();
    CHECK(other == 0);
    int least = 9, greatest = 9, priority = 9;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    cudaStream_t stream;
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
    OK(cudaStreamGetPriority(stream, &priority));
    CHECK(priority == -5);
    cudaEvent_t event = newEvent();
    OK(cudaSetDevice(0));
    cudaStream_t elsewhere = newStream();
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event, elsewhere));
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(uintptr_t(0x1234))));
    char* memory = onDevice<char>(100);
    char host[200] = {};
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 101, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 10, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaFree(memory + 1));
    EXPECT(cudaErrorInvalidValue, cudaFree(host));
    OK(cudaFree(memory));
    EXPECT(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaFree(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(memory, host, 10, cudaMemcpyHostToDevice));
    void* huge = nullptr;
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&huge, size_t(1) << 60));
    EXPECT(98, cudaLaunchKernel(host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, elsewhere));
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 1));
    CHECK(properties.major == 9 && properties.pciBusID == 2);
}

void copies(const Context&) {
    cudaStream_t stream = newStream();
    std::vector<int> source(n);
    for (size_t i = 0; i < n; ++i) source[i] = static_cast<int>(i);
    int* memory = onDevice<int>(n);
    launchBusy(20000, stream);
    // Pageable memory is staged: it may change as soon as the call is back, even though the stream is busy.
    OK(cudaMemcpyAsync(memory, source.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
    std::memset(source.data(), 0, n * sizeof(int));
    std::vector<int> result = fetch(memory, n, stream);
    CHECK(result[999] == 999);

    void* pinned;
    OK(cudaMallocHost(&pinned, n * sizeof(int)));
    launchBusy(300000, stream);
    OK(cudaMemcpyAsync(pinned, memory, n * sizeof(int), cudaMemcpyDefault, stream));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    CHECK(static_cast<int*>(pinned)[999] == -1);
    OK(cudaStreamSynchronize(stream));
    CHECK(static_cast<int*>(pinned)[999] == 999);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, memory + 5));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    OK(cudaPointerGetAttributes(&attributes, source.data()));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(source.data(), n * sizeof(int), 0));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(source.data(), 8, 0));
    OK(cudaHostUnregister(source.data()));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(source.data()));
    OK(cudaFreeHost(pinned));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(pinned));
}

void newMemoryIsPoisoned(const Context&) {
    unsigned char* memory = onDevice<unsigned char>(16);
    unsigned char host[16] = {};
    OK(cudaMemcpy(host, memory, 16, cudaMemcpyDeviceToHost));
    for (unsigned char byte : host) CHECK(byte == 0xff);
}

void orderedMemory(const Context&) {
    cudaStream_t stream = newStream();
    for (int i = 0; i < 30; ++i) {
        void* memory;
        OK(cudaMallocAsync(&memory, n * sizeof(float), stream));
        launchFill(static_cast<float*>(memory), 5.0f, n, stream);
        CHECK(fetch(static_cast<float*>(memory), n, stream)[n - 1] == 5.0f);
        OK(cudaFreeAsync(memory, stream));
    }
    OK(cudaStreamSynchronize(stream));
}

void useBeforeOrderedAllocation(const Context&) {
    cudaStream_t stream = newStream();
    launchBusy(3000000, stream);
    void* memory;
    OK(cudaMallocAsync(&memory, 64, stream));
    cudaStream_t other = newStream();
    OK(cudaMemsetAsync(memory, 0, 64, other));
    cudaStreamSynchronize(other);
}

void useAfterFree(const Context&) {
    cudaStream_t stream = newStream();
    cudaStream_t other = newStream();
    float* memory = onDevice<float>(n);
    launchBusy(20000, other);
    launchFill(memory, 1.0f, n, other);
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(other));
}

void outOfRange(const Context&) {
    cudaStream_t stream = newStream();
    launchFill(onDevice<float>(n), 1.0f, n + 1, stream);
    OK(cudaStreamSynchronize(stream));
}

void hostTouches(const Context&) { *static_cast<volatile float*>(onDevice<float>(n)) = 1.0f; }

void stickyError(const Context&) {
    cudaStream_t stream = newStream();
    launchFill(onDevice<float>(n), 1.0f, n + 1, stream);
    EXPECT(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    void* memory;
    EXPECT(cudaErrorIllegalAddress, cudaMalloc(&memory, 16));
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
}

std::atomic<int> insideResult{-1};

void hostFunction(const Context&) {
    cudaStream_t stream = newStream();
    OK(cudaLaunchHostFunc(
        stream, [](void* argument) { insideResult = cudaStreamQuery(static_cast<cudaStream_t>(argument)); }, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(insideResult == cudaErrorNotPermitted);
}

void legacyStream(const Context&) {
    cudaStream_t blocking;
    OK(cudaStreamCreate(&blocking));
    float* x = onDevice<float>(n);
    float* y = onDevice<float>(std::vector<float>(n, 0.0f));
    for (int i = 1; i <= 30; ++i) {
        auto value = static_cast<float>(i);
        launchFill(x, value, n, blocking);
        launchAxpy(y, x, 1.0f, n, nullptr);
        launchFill(x, 0.0f, n, blocking);
    }
    CHECK(fetch(y, n, blocking)[n - 1] == 465.0f);
    cudaStream_t perThread = reinterpret_cast<cudaStream_t>(uintptr_t(2));
    launchFill(x, 4.0f, n, perThread);
    launchAxpy(y, x, 1.0f, n, reinterpret_cast<cudaStream_t>(uintptr_t(1)));
    CHECK(fetch(y, n, perThread)[0] == 469.0f);
}

void injected(const Context&) {
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(n);
    launchFill(x, 1.0f, n, stream);
    EXPECT(719, cudaMemsetAsync(x, 0, 4, stream));
    OK(cudaMemsetAsync(x, 0, 4, stream));
}

void queueIsLong(const Context&) {
    cudaStream_t stream = newStream();
    float* x = onDevice<float>(std::vector<float>(4, 1.0f));
    float* y = onDevice<float>(std::vector<float>(4, 0.0f));
    auto start = std::chrono::steady_clock::now();
    constexpr int calls = 20000;
    for (int i = 0; i < calls; ++i) launchAxpy(y, x, 1.0f, 4, stream);
    auto time = std::chrono::steady_clock::now() - start;
    CHECK(fetch(y, 4, stream)[0] == calls);
    std::fprintf(stderr, "  launch: %.0f ns\n", std::chrono::duration<double, std::nano>(time).count() / calls);
}

}  // namespace

void addRuntimeCases(std::vector<Case>& cases) {
    const std::string delay = "MOCK_DELAY_US=300";
    cases.push_back({"waits order streams", 1, {delay}, waits});
    cases.push_back({"missing wait shows", 1, {delay}, missingWait});
    cases.push_back({"events", 1, {}, events});
    cases.push_back({"arguments", 1, {}, arguments});
    cases.push_back({"copies", 1, {}, copies});
    cases.push_back({"new memory is poisoned", 1, {}, newMemoryIsPoisoned});
    cases.push_back({"ordered memory", 1, {delay}, orderedMemory});
    cases.push_back({"use before ordered allocation", 1, {}, useBeforeOrderedAllocation, SIGABRT});
    cases.push_back({"use after free", 1, {}, useAfterFree, SIGABRT});
    cases.push_back({"out of range", 1, {}, outOfRange, SIGABRT});
    cases.push_back({"host touches device memory", 1, {}, hostTouches, SIGSEGV});
    cases.push_back({"sticky error", 1, {"MOCK_ILLEGAL_ACCESS=error"}, stickyError});
    cases.push_back({"host function", 1, {}, hostFunction});
    cases.push_back({"legacy stream", 1, {delay}, legacyStream});
    cases.push_back({"injected runtime error", 1, {"MOCK_RUNTIME_FAIL_AT=2:719"}, injected});
    cases.push_back({"long queue", 1, {}, queueIsLong});
}
