// Which host memory is page-locked: copies from and to it run asynchronously, others are staged.
#pragma once
#include <cstddef>

#include "status.h"

namespace mock {

enum class HostKind { Pageable, Pinned, Registered, Managed };

void* allocateHost(size_t bytes, HostKind kind);
Status freeHost(void* address, HostKind kind);
Status registerHost(void* address, size_t bytes);
Status unregisterHost(void* address);
HostKind hostKind(const void* address);
/** Whether the whole range lies in one page-locked range. */
bool isPinned(const void* address, size_t bytes);

}  // namespace mock
