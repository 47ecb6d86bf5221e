// Copies and fills between host and devices, with the vendor's rules on what blocks the host.
#pragma once
#include <cstddef>

#include "runtime.h"

namespace mock {

enum class Direction { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3, Default = 4 };

Status copy(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, bool synchronous);
Status fill(void* to, int value, size_t bytes, Stream& stream, bool synchronous);

/** The calling thread copies or fills at once, with no regard to what any stream does. */
Status copyNow(void* to, const void* from, size_t bytes, Direction direction);
Status fillNow(void* to, int value, size_t bytes);
/** All host memory is read or written when the stream comes to it; `position` may be null. */
Status copyInOrder(void* to, const void* from, size_t bytes, Direction direction, Stream& stream, Position* position);

Status allocate(void** address, size_t bytes);
/** Waits for the device first. */
Status release(void* address);
Status releaseNow(void* address);
Status allocateOrdered(void** address, size_t bytes, Stream& stream);
Status releaseOrdered(void* address, Stream& stream);

/** Where a worker finds memory of a device or page-locked memory; null after an illegal access. */
char* workerView(const void* address, size_t bytes, const char* user);

}  // namespace mock
