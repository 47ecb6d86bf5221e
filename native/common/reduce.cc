#include "reduce.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

// The loops below are compiled twice: for any processor, and for one with wide vectors, which each aarch64 is. The compiler
// vectorises them for the target of the function they are inlined in.
#define JCCL_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#include <immintrin.h>
#define JCCL_WIDE __attribute__((target("avx2,f16c")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define JCCL_WIDE
#else
#error "the kernels are written for x86_64 and aarch64"
#endif

namespace jccl {

namespace {

struct Half {
  uint16_t bits;
};

struct Brain {
  uint16_t bits;
};

JCCL_INLINE float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

JCCL_INLINE uint32_t floatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

JCCL_INLINE float widen(Brain value) { return bitsToFloat(static_cast<uint32_t>(value.bits) << 16); }

// Round to nearest even; a NaN stays one, made quiet.
JCCL_INLINE Brain narrowToBrain(float value) {
  const uint32_t bits = floatToBits(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40;
  return Brain{static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded)};
}

JCCL_INLINE float widen(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t magnitude = value.bits & 0x7fff;
  if (magnitude >= 0x7c00) {  // infinity and NaN
    const uint32_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
    return bitsToFloat(sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet);
  }
  if (magnitude < 0x0400) {  // subnormal: a multiple of 2^-24
    return bitsToFloat(sign | floatToBits(static_cast<float>(magnitude) * 0x1p-24f));
  }
  return bitsToFloat(sign | ((magnitude << 13) + (112u << 23)));
}

// Round to nearest even, as the processor's conversion does it.
JCCL_INLINE Half narrowToHalf(float value) {
  const uint32_t bits = floatToBits(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t result;
  if (magnitude > 0x7f800000) {
    result = 0x7e00 | ((magnitude >> 13) & 0x1ff);
  } else if (magnitude >= 0x477ff000) {  // rounds to 65536 or more
    result = 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24 in the low bits
    result = floatToBits(bitsToFloat(magnitude) + 0.5f) - floatToBits(0.5f);
  } else {
    result = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  }
  return Half{static_cast<uint16_t>(sign | result)};
}

// What arithmetic happens in: float for the 16-bit types.
template <typename T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<Half> {
  using Type = float;
};
template <>
struct Wide<Brain> {
  using Type = float;
};

template <typename T>
JCCL_INLINE T load(T value) {
  return value;
}
JCCL_INLINE float load(Half value) { return widen(value); }
JCCL_INLINE float load(Brain value) { return widen(value); }

template <typename T, typename W>
JCCL_INLINE T store(W value) {
  if constexpr (std::is_same<T, Half>::value) {
    return narrowToHalf(value);
  } else if constexpr (std::is_same<T, Brain>::value) {
    return narrowToBrain(value);
  } else {
    return static_cast<T>(value);
  }
}

// Integers go through unsigned arithmetic, where overflow wraps.
struct Sum {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    if constexpr (std::is_integral<W>::value) {
      return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

struct MeanOfTwo {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return (a + b) * static_cast<W>(0.5);
  }
};

struct Product {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    if constexpr (std::is_integral<W>::value) {
      return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

struct Min {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return (a < b) | (a != a) ? a : b;  // false for a NaN in b, which is then the result
  }
};

struct Max {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return (a > b) | (a != a) ? a : b;
  }
};

struct And {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return static_cast<W>(a & b);
  }
};

struct Or {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return static_cast<W>(a | b);
  }
};

struct Xor {
  template <typename W>
  JCCL_INLINE static W apply(W a, W b) {
    return static_cast<W>(a ^ b);
  }
};

struct Multiply {
  template <typename W>
  JCCL_INLINE static W apply(W a, W factor) {
    return a * factor;
  }
};

struct Divide {
  template <typename W>
  JCCL_INLINE static W apply(W a, W factor) {
    return a / factor;
  }
};

// A byte that is true when it is not zero; results are 0 or 1.
struct Truth {
  uint8_t byte;
};
JCCL_INLINE uint8_t load(Truth value) { return value.byte != 0; }
template <>
JCCL_INLINE Truth store<Truth, uint8_t>(uint8_t value) {
  return Truth{value};
}

template <typename T, typename Op>
JCCL_INLINE void combineLoop(T* out, const T* a, const T* b, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; i++) {
    out[i] = store<T>(Op::apply(load(a[i]), load(b[i])));
  }
}

template <typename T, typename Op>
JCCL_INLINE void scaleLoop(T* out, const T* in, size_t count, double factor) {
  const auto wide = static_cast<typename Wide<T>::Type>(factor);
#pragma GCC ivdep
  for (size_t i = 0; i < count; i++) {
    out[i] = store<T>(Op::apply(load(in[i]), wide));
  }
}

template <typename T, typename Op>
void combinePortable(void* out, const void* a, const void* b, size_t count) {
  combineLoop<T, Op>(static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b), count);
}

template <typename T, typename Op>
void scalePortable(void* out, const void* in, size_t count, double factor) {
  scaleLoop<T, Op>(static_cast<T*>(out), static_cast<const T*>(in), count, factor);
}

template <typename T, typename Op>
JCCL_WIDE void combineWide(void* out, const void* a, const void* b, size_t count) {
  combineLoop<T, Op>(static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b), count);
}

template <typename T, typename Op>
JCCL_WIDE void scaleWide(void* out, const void* in, size_t count, double factor) {
  scaleLoop<T, Op>(static_cast<T*>(out), static_cast<const T*>(in), count, factor);
}

// float16 has conversion instructions that the compiler does not find by itself: blocks of 8 go through them.
constexpr size_t kBlock = 8;

#if defined(__x86_64__)
bool hasWide() {
  static const bool present = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return present;
}

JCCL_WIDE JCCL_INLINE void widenBlock(float* out, const Half* in) {
  _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in))));
}

JCCL_WIDE JCCL_INLINE void narrowBlock(Half* out, const float* in) {
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(out), _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
}
#else
constexpr bool hasWide() { return true; }

JCCL_INLINE void widenBlock(float* out, const Half* in) {
  const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(&in->bits));
  vst1q_f32(out, vcvt_f32_f16(vget_low_f16(halves)));
  vst1q_f32(out + 4, vcvt_high_f32_f16(halves));
}

JCCL_INLINE void narrowBlock(Half* out, const float* in) {
  const float16x4_t low = vcvt_f16_f32(vld1q_f32(in));
  vst1q_u16(&out->bits, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(in + 4))));
}
#endif

template <typename Op>
JCCL_WIDE void combineHalfWide(void* out, const void* a, const void* b, size_t count) {
  auto* o = static_cast<Half*>(out);
  const auto* x = static_cast<const Half*>(a);
  const auto* y = static_cast<const Half*>(b);
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    float left[kBlock];
    float right[kBlock];
    widenBlock(left, x + i);
    widenBlock(right, y + i);
    for (size_t k = 0; k < kBlock; k++) {
      left[k] = Op::apply(left[k], right[k]);
    }
    narrowBlock(o + i, left);
  }
  combineLoop<Half, Op>(o + i, x + i, y + i, count - i);
}

template <typename Op>
JCCL_WIDE void scaleHalfWide(void* out, const void* in, size_t count, double factor) {
  auto* o = static_cast<Half*>(out);
  const auto* x = static_cast<const Half*>(in);
  const auto wide = static_cast<float>(factor);
  size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    float values[kBlock];
    widenBlock(values, x + i);
    for (size_t k = 0; k < kBlock; k++) {
      values[k] = Op::apply(values[k], wide);
    }
    narrowBlock(o + i, values);
  }
  scaleLoop<Half, Op>(o + i, x + i, count - i, factor);
}

template <typename T, typename Op>
Combine combineFor() {
  if constexpr (std::is_same<T, Half>::value) {
    return hasWide() ? combineHalfWide<Op> : combinePortable<T, Op>;
  } else {
    return hasWide() ? combineWide<T, Op> : combinePortable<T, Op>;
  }
}

template <typename Op>
Scale scaleFor(int type) {
  switch (type) {
    case kFloat16:
      return hasWide() ? scaleHalfWide<Op> : scalePortable<Half, Op>;
    case kBfloat16:
      return hasWide() ? scaleWide<Brain, Op> : scalePortable<Brain, Op>;
    case kFloat32:
      return hasWide() ? scaleWide<float, Op> : scalePortable<float, Op>;
    case kFloat64:
      return hasWide() ? scaleWide<double, Op> : scalePortable<double, Op>;
    default:
      return nullptr;
  }
}

template <typename T>
Combine integerCombine(int kind) {
  switch (kind) {
    case kSum:
      return combineFor<T, Sum>();
    case kProduct:
      return combineFor<T, Product>();
    case kMin:
      return combineFor<T, Min>();
    case kMax:
      return combineFor<T, Max>();
    case kBand:
      return combineFor<T, And>();
    case kBor:
      return combineFor<T, Or>();
    case kBxor:
      return combineFor<T, Xor>();
    default:
      return nullptr;
  }
}

template <typename T>
Combine floatingCombine(int kind) {
  switch (kind) {
    case kSum:
    case kAvg:
    case kPremulSum:
      return combineFor<T, Sum>();
    case kProduct:
      return combineFor<T, Product>();
    case kMin:
      return combineFor<T, Min>();
    case kMax:
      return combineFor<T, Max>();
    default:
      return nullptr;
  }
}

Combine truthCombine(int kind) {
  switch (kind) {
    case kSum:
    case kMax:
    case kBor:
      return combineFor<Truth, Or>();
    case kProduct:
    case kMin:
    case kBand:
      return combineFor<Truth, And>();
    case kBxor:
      return combineFor<Truth, Xor>();
    default:
      return nullptr;
  }
}

}  // namespace

Combine combineOf(int type, int kind) {
  switch (type) {
    case kInt8:
      return integerCombine<int8_t>(kind);
    case kUint8:
      return integerCombine<uint8_t>(kind);
    case kInt16:
      return integerCombine<int16_t>(kind);
    case kInt32:
      return integerCombine<int32_t>(kind);
    case kInt64:
      return integerCombine<int64_t>(kind);
    case kFloat16:
      return floatingCombine<Half>(kind);
    case kBfloat16:
      return floatingCombine<Brain>(kind);
    case kFloat32:
      return floatingCombine<float>(kind);
    case kFloat64:
      return floatingCombine<double>(kind);
    case kBool:
      return truthCombine(kind);
    default:
      return nullptr;
  }
}

Combine meanOfTwo(int type) {
  switch (type) {
    case kFloat32:
      return combineFor<float, MeanOfTwo>();
    case kFloat64:
      return combineFor<double, MeanOfTwo>();
    default:
      return nullptr;
  }
}

Scale multiplyOf(int type) { return scaleFor<Multiply>(type); }

Scale divideOf(int type) { return scaleFor<Divide>(type); }

}  // namespace jccl
