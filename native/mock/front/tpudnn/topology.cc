// Which chips are next to each other, and which orders of them are rings.
#include <set>

#include "front.h"

using namespace mock;
using namespace mock::tpudnn;

namespace mock::tpudnn {

namespace {

/** A cube, in which the rings that the vendor's documents show for 4 and 8 chips are rings. */
bool isLinked(int a, int b) {
    int difference = a ^ b;
    return difference != 0 && (difference & (difference - 1)) == 0;
}

}  // namespace

bool isRing(int size, const int* chips) {
    if (!areDistinct(size, chips)) return false;
    // Only 4 and 8 chips go round a ring.
    if (size != 4 && size != 8) return true;
    for (int i = 0; i < size; ++i) {
        if (!isLinked(chips[i], chips[(i + 1) % size])) return false;
    }
    return true;
}

bool areDistinct(int size, const int* chips) {
    std::set<int> seen;
    for (int i = 0; i < size; ++i) {
        if (chips[i] < 0 || chips[i] >= vendorRuntime().deviceCount() || !seen.insert(chips[i]).second) return false;
    }
    return true;
}

}  // namespace mock::tpudnn

MOCK_API tpudnnStatus_t tpudnnSetupC2CTopology() {
    if (vendorRuntime().currentDevice() < 0) return fail("tpudnnSetupC2CTopology: this thread has set no device");
    return TPUDNN_STATUS_SUCCESS;
}

MOCK_API tpudnnStatus_t tpudnnCheckChipMap(int worldSize, int* chipMap) {
    bool fine = chipMap != nullptr && worldSize > 0 && isRing(worldSize, chipMap);
    return fine ? TPUDNN_STATUS_SUCCESS : TPUDNN_STATUS_FAILED;
}

MOCK_API tpudnnStatus_t tpudnnGetC2CRing(int worldSize, int* chipMap) {
    if (chipMap == nullptr || worldSize < 1 || worldSize > vendorRuntime().deviceCount()) {
        return fail("tpudnnGetC2CRing: no such ring");
    }
    bool round = worldSize == 4 || worldSize == 8;
    for (int i = 0; i < worldSize; ++i) chipMap[i] = round ? i ^ (i >> 1) : i;
    return TPUDNN_STATUS_SUCCESS;
}
