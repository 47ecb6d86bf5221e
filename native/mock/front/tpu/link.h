// What libtpudnn asks of libtpurt beyond its public functions.
#pragma once
#include "../../engine/runtime/link.h"

extern "C" __attribute__((visibility("default"))) mock::RuntimeLink* mockTpuRuntime();
