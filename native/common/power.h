#pragma once

namespace jccl {

// At most `size`, which is positive.
inline int largestPowerOf2(int size) {
  int power = 1;
  while (2 * power <= size) {
    power *= 2;
  }
  return power;
}

}  // namespace jccl
