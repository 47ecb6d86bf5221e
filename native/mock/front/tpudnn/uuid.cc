#include "uuid.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mock::tpudnn {

void writeUuid(const UniqueId& id, char* text) {
    std::memset(text, 0, uuidBytes);
    std::snprintf(text, uuidBytes, "%" PRIx64 "-%" PRIx64 "-%d-%d", id.magic, id.nonce, id.process, id.file);
}

bool parseUuid(const char* text, UniqueId* id) {
    char own[uuidBytes + 1] = {};
    std::memcpy(own, text, uuidBytes);
    if (std::sscanf(own, "%" SCNx64 "-%" SCNx64 "-%d-%d", &id->magic, &id->nonce, &id->process, &id->file) != 4)
        return false;
    char again[uuidBytes];
    writeUuid(*id, again);
    return std::memcmp(again, text, uuidBytes) == 0;
}

}  // namespace mock::tpudnn
