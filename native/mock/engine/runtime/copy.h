// Device memory and copies between host and devices, with the vendors' rules on what blocks the host.
#pragma once
#include <cstddef>

#include "runtime.h"

namespace mock {

enum class Direction { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, Default = 4 };

/** The caller's bytes may change when this is back, and are there when they were asked for. */
Status copy(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, bool synchronous);
/** The calling thread copies at once, with no regard to what any stream does. */
Status copyNow(void* to, const void* from, size_t bytes, Direction direction);
/** Host memory is read or written when the stream comes to it; `position` may be null. */
Status copyInOrder(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, Position* position);

/** Page-locked: `copy` leaves such memory to the stream, in both directions. */
Status allocateHost(void** address, size_t bytes);
/** What still copies from or to it ends the process. */
Status releaseHost(void* address);
bool isPageLocked(const void* address, size_t bytes);
/** Makes memory of the caller page-locked, and ordinary again. */
Status registerHost(void* address, size_t bytes);
Status unregisterHost(void* address);

Status allocate(void** address, size_t bytes);
/** Waits for the device first. */
Status release(void* address);
Status releaseNow(void* address);
/** Frees when the stream comes to it. */
Status releaseInOrder(void* address, Stream& stream);
/** Sets all bytes to one value when the stream comes to it. */
Status fill(void* address, int value, size_t bytes, Stream& stream);

/** Where a worker finds memory of a device; ends the process for any other. */
char* workerView(const void* address, size_t bytes, const char* user);
/** The same for a kernel, which also reaches page-locked host memory. */
char* kernelView(const void* address, size_t bytes, const char* user);

}  // namespace mock
