// Which chips have a link: a cube, in which the rings that the vendor's documents show for 4 and 8 chips are rings.
#pragma once

namespace mock::tpu {

inline bool isLinked(int a, int b) {
    int difference = a ^ b;
    return difference != 0 && (difference & (difference - 1)) == 0;
}

}  // namespace mock::tpu
