// Which chips are next to each other: in the mock each to the one with the next number, and the last to the first.
#include <set>

#include "front.h"

using namespace mock;
using namespace mock::tpudnn;

namespace mock::tpudnn {

bool isRing(int size, const int* chips) {
    int all = vendorRuntime().deviceCount();
    std::set<int> seen;
    for (int i = 0; i < size; ++i) {
        if (chips[i] < 0 || chips[i] >= all || !seen.insert(chips[i]).second) return false;
    }
    // Only 4 and 8 chips go round a ring.
    if (size != 4 && size != 8) return true;
    for (int i = 0; i < size; ++i) {
        int distance = (chips[(i + 1) % size] - chips[i] + all) % all;
        if (distance != 1 && distance != all - 1) return false;
    }
    return true;
}

}  // namespace mock::tpudnn

MOCK_API tpudnnStatus_t tpudnnSetupC2CTopology() {
    if (vendorRuntime().currentDevice() < 0) return fail("tpudnnSetupC2CTopology: this thread has set no device");
    return TPUDNN_STATUS_SUCCESS;
}

MOCK_API tpudnnStatus_t tpudnnGetC2CTopology(int* chipNum, const int** topology) {
    if (chipNum == nullptr || topology == nullptr) return fail("tpudnnGetC2CTopology: null argument");
    static const std::vector<int> table = [] {
        int all = vendorRuntime().deviceCount();
        std::vector<int> links;
        for (int from = 0; from < all; ++from) {
            for (int to = 0; to < all; ++to) links.push_back(all > 1 && (from + 1) % all == to ? 0 : -1);
        }
        return links;
    }();
    *chipNum = vendorRuntime().deviceCount();
    *topology = table.data();
    return TPUDNN_STATUS_SUCCESS;
}

MOCK_API tpudnnStatus_t tpudnnCheckChipMap(int worldSize, int* chipMap) {
    bool fine = chipMap != nullptr && worldSize > 0 && isRing(worldSize, chipMap);
    return fine ? TPUDNN_STATUS_SUCCESS : TPUDNN_STATUS_FAILED;
}

MOCK_API tpudnnStatus_t tpudnnGetC2CRing(int worldSize, int* chipMap) {
    int all = vendorRuntime().deviceCount();
    bool closes = (worldSize != 4 && worldSize != 8) || worldSize == all;
    if (chipMap == nullptr || worldSize < 1 || worldSize > all || !closes)
        return fail("tpudnnGetC2CRing: no such ring");
    for (int i = 0; i < worldSize; ++i) chipMap[i] = i;
    return TPUDNN_STATUS_SUCCESS;
}
