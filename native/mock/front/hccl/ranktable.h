// Rank tables of the versions 1.0 and 1.2, and 2.0 on the newest chips, checked as their documentation says.
#pragma once
#include <string>
#include <vector>

#include "types.h"

namespace mock::hccl {

struct RankTable {
    /** The physical device of each rank, and which server it is on. */
    std::vector<int> devices;
    std::vector<int> servers;
    /** Of the whole text: ranks with the same table find one another by it. */
    uint64_t digest = 0;
};

HcclResult readRankTable(const char* call, const char* path, RankTable* table);

}  // namespace mock::hccl
