// The bytes a root hands to the other ranks.
#pragma once
#include "../../engine/comm/segment.h"
#include "types.h"

namespace mock::hccl {

/** All bytes count: whoever copies fewer is found out. */
void writeRootInfo(const UniqueId& id, HcclRootInfo* rootInfo);
bool parseRootInfo(const HcclRootInfo& rootInfo, UniqueId* id);

}  // namespace mock::hccl
