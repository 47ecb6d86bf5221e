// Prints an ABI as lines of name=value, as the compiler sees the headers the mocks are built with:
//   struct.NAME.size, struct.NAME.align, struct.NAME.FIELD.offset, struct.NAME.FIELD.size
//   enum.NAME.CONSTANT, constant.NAME
//   function.NAME=RESULT(PARAMETER,...) in kinds: void ptr i32 u32 i64 u64 f32 structN
//   types.NAME=RESULT(PARAMETER,...) in the vendor's names of types
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

namespace mock::listing {

/** The vendor's name of a type; fronts add theirs with MOCK_TYPE. */
template <class T>
struct Name;

#define MOCK_TYPE(type)                             \
    template <>                                     \
    struct mock::listing::Name<type> {              \
        static std::string text() { return #type; } \
    }

template <class T>
std::string nameOf() {
    if constexpr (std::is_pointer_v<T> && std::is_const_v<std::remove_pointer_t<T>>) {
        return "const " + nameOf<std::remove_const_t<std::remove_pointer_t<T>>>() + "*";
    } else {
        return Name<T>::text();
    }
}

template <class T>
struct Name<T*> {
    static std::string text() { return nameOf<T>() + "*"; }
};

template <class T>
std::string kindOf() {
    if constexpr (std::is_void_v<T>) {
        return "void";
    } else if constexpr (std::is_pointer_v<T>) {
        return "ptr";
    } else if constexpr (std::is_enum_v<T>) {
        return "i" + std::to_string(sizeof(T) * 8);
    } else if constexpr (std::is_floating_point_v<T>) {
        return "f" + std::to_string(sizeof(T) * 8);
    } else if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T) * 8);
    } else if constexpr (std::is_union_v<T>) {
        // Of one integer, which is passed as the integer is.
        return "i" + std::to_string(sizeof(T) * 8);
    } else {
        return "struct" + std::to_string(sizeof(T));
    }
}

inline std::string joined(std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return text;
}

template <class Result, class... Parameters>
void function(const char* name, Result (*)(Parameters...)) {
    std::printf("function.%s=%s(%s)\n", name, kindOf<Result>().c_str(), joined({kindOf<Parameters>()...}).c_str());
    std::printf("types.%s=%s(%s)\n", name, nameOf<Result>().c_str(), joined({nameOf<Parameters>()...}).c_str());
}

}  // namespace mock::listing

// The pointer is never called, and no library is linked: only its type matters.
#define FUNCTION(name) mock::listing::function(#name, static_cast<decltype(&name)>(nullptr))
#define STRUCT(type)                                          \
    std::printf("struct." #type ".size=%zu\n", sizeof(type)); \
    std::printf("struct." #type ".align=%zu\n", alignof(type))
#define FIELD(type, field)                                                          \
    std::printf("struct." #type "." #field ".offset=%zu\n", offsetof(type, field)); \
    std::printf("struct." #type "." #field ".size=%zu\n", sizeof(type::field))
#define ENUM(type, constant) std::printf("enum." #type "." #constant "=%lld\n", static_cast<long long>(constant))
#define CONSTANT(name) std::printf("constant." #name "=%llu\n", static_cast<unsigned long long>(name))

MOCK_TYPE(void);
MOCK_TYPE(char);
MOCK_TYPE(bool);
MOCK_TYPE(float);
MOCK_TYPE(int);
MOCK_TYPE(uint32_t);
MOCK_TYPE(int64_t);
MOCK_TYPE(uint64_t);
