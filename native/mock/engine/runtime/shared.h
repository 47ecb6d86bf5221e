// Device memory of other processes: a block is exported as a few numbers, from which another process maps it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "status.h"

namespace mock {

/** What one process hands to another. The exporter must keep the block until every importer has closed it. */
struct SharedBlock {
    uint64_t mark;
    int32_t process;
    int32_t file;
    uint64_t offset;
    uint64_t bytes;
};

/** Of the live block that an address lies in. */
Status exportBlock(const void* address, SharedBlock* block);
/** Maps a block of another process, once for each call. The host cannot touch it. */
Status importBlock(const SharedBlock& block, void** address);
Status closeImport(void* address);

bool isImported(const void* address);
/** Where a worker finds bytes of an imported block; null when they are in none. */
char* importedView(const void* address, size_t bytes);

}  // namespace mock
