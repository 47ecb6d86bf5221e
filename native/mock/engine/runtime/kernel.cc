// Stand-ins for a user's kernels. Their addresses are found by name in the library, so that a test can launch them
// through the vendor's ordinary launch call. Arguments: see each one.
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "copy.h"

extern "C" {
// fill(float* data, float value, uint64_t count)
__attribute__((visibility("default"))) extern const char mockKernelFill[8] = "fill";
// axpy(float* y, const float* x, float a, uint64_t count): y = y + a * x
__attribute__((visibility("default"))) extern const char mockKernelAxpy[8] = "axpy";
// busy(uint64_t microseconds): keeps the stream, not a core, busy
__attribute__((visibility("default"))) extern const char mockKernelBusy[8] = "busy";
}

namespace mock {

namespace {

template <class T>
T argument(void** arguments, int index) {
    T value;
    std::memcpy(&value, arguments[index], sizeof value);
    return value;
}

float* floats(const void* address, uint64_t count, const char* kernel) {
    return reinterpret_cast<float*>(workerView(address, count * sizeof(float), kernel));
}

Task fill(void** arguments) {
    auto data = argument<void*>(arguments, 0);
    auto value = argument<float>(arguments, 1);
    auto count = argument<uint64_t>(arguments, 2);
    return [=] {
        float* place = floats(data, count, "fill");
        for (uint64_t i = 0; i < count; ++i) place[i] = value;
    };
}

Task axpy(void** arguments) {
    auto y = argument<void*>(arguments, 0);
    auto x = argument<void*>(arguments, 1);
    auto a = argument<float>(arguments, 2);
    auto count = argument<uint64_t>(arguments, 3);
    return [=] {
        float* to = floats(y, count, "axpy");
        const float* from = floats(x, count, "axpy");
        for (uint64_t i = 0; i < count; ++i) to[i] += a * from[i];
    };
}

Task busy(void** arguments) {
    auto time = argument<uint64_t>(arguments, 0);
    return [=] { std::this_thread::sleep_for(std::chrono::microseconds(time)); };
}

struct Registered {
    KernelBody body = nullptr;
    size_t most = 0;
};

std::mutex mutex;
std::map<const void*, Registered>& registered() {
    static auto* all = new std::map<const void*, Registered>;
    return *all;
}

Registered find(const void* kernel) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = registered().find(kernel);
    return found == registered().end() ? Registered() : found->second;
}

}  // namespace

void registerKernel(const void* kernel, KernelBody body, size_t most) {
    std::lock_guard<std::mutex> lock(mutex);
    registered()[kernel] = {body, most};
}

bool isKernel(const void* kernel) { return find(kernel).body != nullptr; }

Status launchRegistered(const void* kernel, const void* argument, size_t bytes, Stream& stream) {
    Registered found = find(kernel);
    if (found.body == nullptr) return Status::InvalidFunction;
    if (argument == nullptr || bytes > found.most) return Status::InvalidValue;
    auto first = static_cast<const char*>(argument);
    auto copy = std::make_shared<std::vector<char>>(first, first + bytes);
    return submit(stream, [found, copy] { found.body(copy->data(), copy->size()); });
}

Status launchKernel(const void* kernel, void** arguments, Stream& stream) {
    if (kernel == mockKernelFill) return submit(stream, fill(arguments));
    if (kernel == mockKernelAxpy) return submit(stream, axpy(arguments));
    if (kernel == mockKernelBusy) return submit(stream, busy(arguments));
    return launchRegistered(kernel, arguments == nullptr ? nullptr : arguments[0], find(kernel).most, stream);
}

}  // namespace mock
