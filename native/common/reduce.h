// Element-wise kernels for every data type and reduce operation. Each exists in a portable version and one for AVX2,
// chosen when the process starts; both give the same bits.
#pragma once

#include <cstddef>

namespace jccl {

// In the order of org.jccl.DataType; the float8 types after these can be moved but not reduced.
enum DataType : int { kInt8, kUint8, kInt16, kInt32, kInt64, kFloat16, kBfloat16, kFloat32, kFloat64, kBool };

// In bytes.
size_t elementSizeOf(int type);

// In the order of org.jccl.ReduceOp.Kind.
enum ReduceKind : int { kSum, kAvg, kProduct, kMin, kMax, kBand, kBor, kBxor, kPremulSum };

// out[i] = a[i] op b[i]; out may be a or b.
using Combine = void (*)(void* out, const void* a, const void* b, size_t count);

// out[i] = in[i] * factor or in[i] / factor; out may be in.
using Scale = void (*)(void* out, const void* in, size_t count, double factor);

// Null when the operation is not defined for the type. AVG and PREMUL_SUM combine as SUM.
Combine combineOf(int type, int kind);
Scale multiplyOf(int type);
Scale divideOf(int type);

}  // namespace jccl
