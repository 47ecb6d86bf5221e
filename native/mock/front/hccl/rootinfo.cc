#include "rootinfo.h"

#include <cstring>

#include "../../engine/base.h"

namespace mock::hccl {

void writeRootInfo(const UniqueId& id, HcclRootInfo* rootInfo) {
    Random random(id.nonce);
    std::memcpy(rootInfo->internal, &id, sizeof id);
    for (size_t i = sizeof id; i < sizeof rootInfo->internal; ++i)
        rootInfo->internal[i] = static_cast<char>(random.next());
}

bool parseRootInfo(const HcclRootInfo& rootInfo, UniqueId* id) {
    std::memcpy(id, rootInfo.internal, sizeof *id);
    HcclRootInfo wanted;
    writeRootInfo(*id, &wanted);
    return std::memcmp(&wanted, &rootInfo, sizeof wanted) == 0;
}

}  // namespace mock::hccl
