#include "jccl_nccl.h"
#include "libraries.h"

using namespace jccl::nccl;

namespace {

// Values of the vendor's headers.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kCaptureModeThreadLocal = 1;

void* pointer(int64_t address) { return reinterpret_cast<void*>(address); }

// What goes to Java: a number or an address, or why there is none.
template <class Value>
int64_t orCode(int code, Value value) {
  return code == 0 ? (int64_t)value : -static_cast<int64_t>(code);
}

int asked(int (*question)(int*)) {
  int value = 0;
  const int code = question(&value);
  return static_cast<int>(orCode(code, value));
}

}  // namespace

const char* jccl_cuda_error_name(int code) noexcept { return cudaGetErrorName(code); }
const char* jccl_cuda_error_string(int code) noexcept { return cudaGetErrorString(code); }
int jccl_cuda_get_last_error() noexcept { return cudaGetLastError(); }

int jccl_cuda_driver_version() noexcept { return asked(cudaDriverGetVersion); }
int jccl_cuda_runtime_version() noexcept { return asked(cudaRuntimeGetVersion); }
int jccl_cuda_device_count() noexcept { return asked(cudaGetDeviceCount); }

int jccl_cuda_compute_capability_major(int device) noexcept {
  int value = 0;
  const int code = cudaDeviceGetAttribute(&value, kComputeCapabilityMajor, device);
  return static_cast<int>(orCode(code, value));
}

int jccl_cuda_set_device(int device) noexcept { return cudaSetDevice(device); }
int jccl_cuda_device_synchronize() noexcept { return cudaDeviceSynchronize(); }

int64_t jccl_cuda_stream_create(int high_priority) noexcept {
  int least = 0;
  int greatest = 0;
  void* stream = nullptr;
  int code = high_priority != 0 ? cudaDeviceGetStreamPriorityRange(&least, &greatest) : 0;
  if (code == 0) {
    code = cudaStreamCreateWithPriority(&stream, kStreamNonBlocking, greatest);
  }
  return orCode(code, stream);
}

int jccl_cuda_stream_destroy(int64_t stream) noexcept { return cudaStreamDestroy(pointer(stream)); }
int jccl_cuda_stream_query(int64_t stream) noexcept { return cudaStreamQuery(pointer(stream)); }
int jccl_cuda_stream_synchronize(int64_t stream) noexcept { return cudaStreamSynchronize(pointer(stream)); }

int jccl_cuda_stream_is_capturing(int64_t stream) noexcept {
  int status = 0;
  const int code = cudaStreamIsCapturing(pointer(stream), &status);
  return static_cast<int>(orCode(code, status != 0));
}

int jccl_cuda_stream_waits_for_default(int64_t stream) noexcept {
  unsigned flags = 0;
  const int code = cudaStreamGetFlags(pointer(stream), &flags);
  return static_cast<int>(orCode(code, (flags & kStreamNonBlocking) == 0));
}

int jccl_cuda_stream_wait_event(int64_t stream, int64_t event) noexcept {
  return cudaStreamWaitEvent(pointer(stream), pointer(event), 0);
}

int64_t jccl_cuda_event_create(int timing) noexcept {
  void* event = nullptr;
  const int code = cudaEventCreateWithFlags(&event, timing != 0 ? 0 : kEventDisableTiming);
  return orCode(code, event);
}

int jccl_cuda_event_destroy(int64_t event) noexcept { return cudaEventDestroy(pointer(event)); }
int jccl_cuda_event_record(int64_t event, int64_t stream) noexcept {
  return cudaEventRecord(pointer(event), pointer(stream));
}
int jccl_cuda_event_query(int64_t event) noexcept { return cudaEventQuery(pointer(event)); }
int jccl_cuda_event_synchronize(int64_t event) noexcept { return cudaEventSynchronize(pointer(event)); }
int jccl_cuda_event_elapsed(float* millis, int64_t start, int64_t end) noexcept {
  return cudaEventElapsedTime(millis, pointer(start), pointer(end));
}

int64_t jccl_cuda_malloc(int64_t bytes) noexcept {
  void* memory = nullptr;
  const int code = cudaMalloc(&memory, static_cast<size_t>(bytes));
  return orCode(code, memory);
}

int64_t jccl_cuda_host_alloc(int64_t bytes) noexcept {
  void* memory = nullptr;
  const int code = cudaHostAlloc(&memory, static_cast<size_t>(bytes), kHostAllocPortable);
  return orCode(code, memory);
}

int jccl_cuda_free(int64_t address) noexcept { return cudaFree(pointer(address)); }
int jccl_cuda_free_host(int64_t address) noexcept { return cudaFreeHost(pointer(address)); }

int jccl_cuda_memcpy_async(int64_t to, int64_t from, int64_t bytes, int kind, int64_t stream) noexcept {
  return cudaMemcpyAsync(pointer(to), pointer(from), static_cast<size_t>(bytes), kind, pointer(stream));
}

int jccl_cuda_ignore_captures_of_other_threads() noexcept {
  int mode = kCaptureModeThreadLocal;
  return cudaThreadExchangeStreamCaptureMode(&mode);
}
