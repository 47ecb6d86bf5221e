// The unique id as text, zero-padded to 128 bytes.
#pragma once
#include "../../engine/comm/segment.h"

namespace mock::tpudnn {

constexpr size_t uuidBytes = 128;

void writeUuid(const UniqueId& id, char* text);
/** False for anything else than a text that writeUuid made, with all its padding. */
bool parseUuid(const char* text, UniqueId* id);

}  // namespace mock::tpudnn
