#include "reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace mock {

namespace {

template <class T>
struct Plain {
    using Stored = T;
    using Value = T;
    static Value load(Stored s) { return s; }
    static Stored store(Value v) { return v; }
};

/** An IEEE-like float of 1 + E + M bits. Finite: no infinities, all ones is NaN, overflow saturates (e4m3). */
template <class S, int E, int M, bool Finite>
struct Narrow {
    using Stored = S;
    using Value = float;
    static constexpr int bias = (1 << (E - 1)) - 1;
    static constexpr unsigned top = (1u << E) - 1;
    static constexpr unsigned magnitude = (1u << (E + M)) - 1;

    static float load(Stored bits) {
        unsigned exponent = (static_cast<unsigned>(bits) >> M) & top;
        unsigned mantissa = static_cast<unsigned>(bits) & ((1u << M) - 1);
        float value;
        if (Finite && (static_cast<unsigned>(bits) & magnitude) == magnitude) {
            value = NAN;
        } else if (!Finite && exponent == top) {
            value = mantissa == 0 ? INFINITY : NAN;
        } else if (exponent == 0) {
            value = std::ldexp(static_cast<float>(mantissa), 1 - bias - M);
        } else {
            value = std::ldexp(static_cast<float>(mantissa | (1u << M)), static_cast<int>(exponent) - bias - M);
        }
        return (static_cast<unsigned>(bits) >> (E + M)) != 0 ? -value : value;
    }

    static Stored store(float value) {
        unsigned sign = std::signbit(value) ? 1u << (E + M) : 0;
        value = std::fabs(value);
        if (std::isnan(value)) return static_cast<Stored>(sign | magnitude);
        if (value == 0) return static_cast<Stored>(sign);
        int exponent = 0;
        std::frexp(value, &exponent);
        // The weight of the last mantissa bit at this size; nearbyint rounds to even.
        int last = std::max(exponent - 1, 1 - bias) - M;
        float steps = std::isinf(value) ? INFINITY : std::nearbyint(std::ldexp(value, -last));
        // Counting steps from zero gives the bits directly: the exponent field grows by one every 2^M steps.
        float bits = steps + std::ldexp(static_cast<float>(last + M + bias - 1), M);
        float limit = static_cast<float>(Finite ? magnitude : top << M);
        if (!(bits < limit)) return static_cast<Stored>(sign | (Finite ? magnitude - 1 : top << M));
        return static_cast<Stored>(sign | static_cast<unsigned>(bits));
    }
};

struct Brain {
    using Stored = uint16_t;
    using Value = float;

    static float load(uint16_t bits) {
        uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }

    static uint16_t store(float value) {
        uint32_t wide;
        std::memcpy(&wide, &value, 4);
        if (std::isnan(value)) return static_cast<uint16_t>((wide >> 16) | 0x40);
        return static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
    }
};

template <class V>
V combine(ReduceOp op, V a, V b) {
    switch (op) {
        case ReduceOp::Prod: return static_cast<V>(a * b);
        case ReduceOp::Max: return std::max(a, b);
        case ReduceOp::Min: return std::min(a, b);
        default: return static_cast<V>(a + b);
    }
}

template <class F>
auto withType(DataType type, F function) {
    switch (type) {
        case DataType::Int8: return function(Plain<int8_t>());
        case DataType::Uint8: return function(Plain<uint8_t>());
        case DataType::Int32: return function(Plain<int32_t>());
        case DataType::Uint32: return function(Plain<uint32_t>());
        case DataType::Int64: return function(Plain<int64_t>());
        case DataType::Uint64: return function(Plain<uint64_t>());
        case DataType::Float16: return function(Narrow<uint16_t, 5, 10, false>());
        case DataType::Float32: return function(Plain<float>());
        case DataType::Float64: return function(Plain<double>());
        case DataType::Bfloat16: return function(Brain());
        case DataType::Int16: return function(Plain<int16_t>());
        case DataType::Uint16: return function(Plain<uint16_t>());
        case DataType::Float8e4m3: return function(Narrow<uint8_t, 4, 3, true>());
        default: return function(Narrow<uint8_t, 5, 2, false>());
    }
}

}  // namespace

size_t sizeOf(DataType type) {
    return withType(type, [](auto codec) { return sizeof(typename decltype(codec)::Stored); });
}

const char* nameOf(Kind kind) {
    static const char* const names[] = {"AllReduce",  "Reduce",    "ReduceScatter", "ReduceScatterV", "AllGather",
                                        "AllGatherV", "Broadcast", "AlltoAll",      "AlltoAllV",      "Gather",
                                        "Scatter",    "Send",      "Recv"};
    return names[static_cast<int>(kind)];
}

void reduce(DataType type, ReduceOp op, void* out, const std::vector<const void*>& inputs, size_t count) {
    withType(type, [&](auto codec) {
        using Codec = decltype(codec);
        using Stored = typename Codec::Stored;
        using Value = typename Codec::Value;
        auto* target = static_cast<Stored*>(out);
        const auto ranks = static_cast<Value>(inputs.size());
        // Floats are multiplied by a rounded reciprocal before they are added, so an average that should be 0 may not be.
        const bool scales = op == ReduceOp::Avg && std::is_floating_point_v<Value>;
        const Value factor = scales ? Codec::load(Codec::store(1 / ranks)) : 1;
        for (size_t i = 0; i < count; ++i) {
            auto value = static_cast<Value>(Codec::load(static_cast<const Stored*>(inputs[0])[i]) * factor);
            for (size_t r = 1; r < inputs.size(); ++r) {
                value = combine(op, value, static_cast<Value>(Codec::load(static_cast<const Stored*>(inputs[r])[i]) * factor));
            }
            if (op == ReduceOp::Avg && !scales) value = static_cast<Value>(value / ranks);
            target[i] = Codec::store(value);
        }
    });
}

void convert(DataType from, const void* input, DataType to, void* out, size_t count, double factor) {
    withType(from, [&](auto source) {
        withType(to, [&](auto target) {
            using Source = decltype(source);
            using Target = decltype(target);
            auto* in = static_cast<const typename Source::Stored*>(input);
            auto* result = static_cast<typename Target::Stored*>(out);
            for (size_t i = 0; i < count; ++i) {
                auto value = Source::load(in[i]);
                // Integers go from one to the other without a detour: a double has no wrapping.
                bool exact = factor == 1;
                result[i] = exact ? Target::store(static_cast<typename Target::Value>(value))
                                  : Target::store(static_cast<typename Target::Value>(value * factor));
            }
        });
    });
}

void scale(DataType type, void* data, size_t count, const void* scalar) {
    withType(type, [&](auto codec) {
        using Codec = decltype(codec);
        using Stored = typename Codec::Stored;
        auto* target = static_cast<Stored*>(data);
        Stored bits;
        std::memcpy(&bits, scalar, sizeof bits);
        auto factor = Codec::load(bits);
        for (size_t i = 0; i < count; ++i) {
            target[i] = Codec::store(static_cast<typename Codec::Value>(Codec::load(target[i]) * factor));
        }
    });
}

}  // namespace mock
