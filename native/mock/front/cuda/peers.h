// Access of devices to the memory of others.
#pragma once
#include <vector>

namespace mock::cuda {

/** The devices that were given access to one device's memory. */
std::vector<int> devicesThatReach(int owner);

}  // namespace mock::cuda
