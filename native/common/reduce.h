// Element-wise kernels for every data type and reduce operation. On x86_64 each exists in a portable version and one for
// AVX2, chosen when the process starts; on aarch64 in one for NEON. All give the same bits. Only which NaN an addition or
// a multiplication gives, its sign and its lower bits, is the processor's.
#pragma once

#include <cstddef>

#include "jccl.h"

namespace jccl {

// out[i] = a[i] op b[i]; out may be a or b.
using Combine = void (*)(void* out, const void* a, const void* b, size_t count);

// out[i] = in[i] * factor or in[i] / factor; out may be in.
using Scale = void (*)(void* out, const void* in, size_t count, double factor);

// Null when the operation is not defined for the type. AVG and PREMUL_SUM combine as SUM.
Combine combineOf(int type, int kind);
// (a[i] + b[i]) / 2 for float32 and float64, whose bits are those of the sum divided later; null for other types, where
// the sum is rounded first.
Combine meanOfTwo(int type);
Scale multiplyOf(int type);
Scale divideOf(int type);

}  // namespace jccl
