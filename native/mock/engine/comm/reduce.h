// Arithmetic on every data type; the narrow float types are computed in float and rounded once.
#pragma once
#include <vector>

#include "types.h"

namespace mock {

/** out = op over all inputs, in their order; out may be one of them. */
void reduce(DataType type, ReduceOp op, void* out, const std::vector<const void*>& inputs, size_t count);

/** out = factor * input, in another type when they differ; both may be the same memory. Integers wrap. */
void convert(DataType from, const void* input, DataType to, void* out, size_t count, double factor);

/** Multiplies in place. */
void scale(DataType type, void* data, size_t count, const void* scalar);

}  // namespace mock
