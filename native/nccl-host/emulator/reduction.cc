#include "reduction.h"

#include <cmath>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <type_traits>

#include "memory.h"

namespace emulator {

namespace {

/** How a type's values are computed with: in `Wide`, and rounded to the type after each operation, as devices do. */
template <class T>
struct Arithmetic {
    using Wide = T;
    static Wide widen(T value) { return value; }
    static T narrow(Wide value) { return value; }
};

template <>
struct Arithmetic<__half> {
    using Wide = float;
    static float widen(__half value) { return __half2float(value); }
    static __half narrow(float value) { return __float2half(value); }
};

template <>
struct Arithmetic<__nv_bfloat16> {
    using Wide = float;
    static float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
    static __nv_bfloat16 narrow(float value) { return __float2bfloat16(value); }
};

/** By way of half precision. */
template <class T>
struct Arithmetic8 {
    using Wide = float;
    static float widen(T value) { return static_cast<float>(value); }
    static T narrow(float value) { return T(__float2half(value)); }
};

template <>
struct Arithmetic<__nv_fp8_e4m3> : Arithmetic8<__nv_fp8_e4m3> {};
template <>
struct Arithmetic<__nv_fp8_e5m2> : Arithmetic8<__nv_fp8_e5m2> {};

template <class T>
T scalar(uint64_t bits) {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
}

/** Integers are unsigned here: the argument has the sign bit where a comparison or a division needs it. */
template <class T>
class Operator {
public:
    Operator(ncclDevRedOp_t op, uint64_t argument) : op_(op), argument_(argument) {}

    T before(T own) const {
        if (op_ != ncclDevPreMulSum) return own;
        return A::narrow(static_cast<W>(A::widen(own) * A::widen(scalar<T>(argument_))));
    }

    T reduce(T a, T b) const {
        switch (op_) {
            case ncclDevProd: return A::narrow(static_cast<W>(A::widen(a) * A::widen(b)));
            case ncclDevMinMax: return choose(a, b);
            default: return A::narrow(static_cast<W>(A::widen(a) + A::widen(b)));
        }
    }

    T after(T sum) const {
        if constexpr (std::is_integral_v<T>) {
            if (op_ == ncclDevSumPostDiv) return divide(sum);
        }
        return sum;
    }

private:
    using A = Arithmetic<T>;
    using W = typename A::Wide;

    T choose(T a, T b) const {
        if constexpr (std::is_integral_v<T>) {
            auto mask = static_cast<T>(argument_);
            return static_cast<T>(a ^ mask) < static_cast<T>(b ^ mask) ? a : b;
        } else {
            bool largest = (argument_ & 1) != 0;
            return A::narrow(largest ? std::fmax(A::widen(a), A::widen(b)) : std::fmin(A::widen(a), A::widen(b)));
        }
    }

    T divide(T sum) const {
        if constexpr (std::is_integral_v<T>) {
            auto divisor = static_cast<int64_t>(argument_ >> 1);
            if ((argument_ & 1) == 0) return static_cast<T>(sum / static_cast<uint64_t>(divisor));
            return static_cast<T>(static_cast<int64_t>(static_cast<std::make_signed_t<T>>(sum)) / divisor);
        } else {
            return sum;
        }
    }

    const ncclDevRedOp_t op_;
    const uint64_t argument_;
};

template <class T>
void applyTo(char* to, const char* own, const char* received, size_t count, bool last, const Operator<T>& op) {
    for (size_t i = 0; i < count; ++i) {
        T result, other;
        std::memcpy(static_cast<void*>(&result), (own != nullptr ? own : received) + i * sizeof(T), sizeof(T));
        if (own != nullptr) result = op.before(result);
        if (own != nullptr && received != nullptr) {
            std::memcpy(static_cast<void*>(&other), received + i * sizeof(T), sizeof(T));
            result = op.reduce(result, other);
        }
        if (last) result = op.after(result);
        std::memcpy(to + i * sizeof(T), static_cast<const void*>(&result), sizeof(T));
    }
}

}  // namespace

size_t bytesOf(ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
        case ncclUint8:
        case ncclFloat8e4m3:
        case ncclFloat8e5m2: return 1;
        case ncclFloat16:
        case ncclBfloat16: return 2;
        case ncclInt32:
        case ncclUint32:
        case ncclFloat32: return 4;
        case ncclInt64:
        case ncclUint64:
        case ncclFloat64: return 8;
        default: refuse("data type", "not known to the emulator");
    }
}

Reduction::Reduction(ncclDevRedOp_t op, ncclDataType_t type, uint64_t argument)
    : op_(op), type_(type), argument_(argument), elementBytes_(bytesOf(type)), reduces_(true) {}

void Reduction::apply(char* to, const char* own, const char* received, size_t count, bool last) const {
    if (count == 0) return;
    if (!reduces_) {
        std::memmove(to, own != nullptr ? own : received, count * elementBytes_);
        return;
    }
    auto run = [&](auto zero) {
        using T = decltype(zero);
        applyTo<T>(to, own, received, count, last, Operator<T>(op_, argument_));
    };
    switch (type_) {
        case ncclInt8:
        case ncclUint8: return run(uint8_t());
        case ncclInt32:
        case ncclUint32: return run(uint32_t());
        case ncclInt64:
        case ncclUint64: return run(uint64_t());
        case ncclFloat16: return run(__half());
        case ncclBfloat16: return run(__nv_bfloat16());
        case ncclFloat8e4m3: return run(__nv_fp8_e4m3());
        case ncclFloat8e5m2: return run(__nv_fp8_e5m2());
        case ncclFloat32: return run(float());
        case ncclFloat64: return run(double());
        default: refuse("data type", "not known to the emulator");
    }
}

}  // namespace emulator
