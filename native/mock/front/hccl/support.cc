#include "support.h"

#include <cstring>
#include <string>

#include "../../engine/base.h"
#include "../acl/release.h"

namespace mock::hccl {

namespace {

constexpr size_t anyNumber = SIZE_MAX;

/** A row of the manual: for how many ranks each chip has the function. */
struct Row {
    const char* function;
    size_t a5, a3, a2, a910;
};

// From "Applicable Products" and "Constraints" of each function's page in CANN 9.1's manual.
constexpr Row manual[] = {
    {"HcclAllGather", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclAllGatherV", anyNumber, anyNumber, anyNumber, 0},
    {"HcclAllReduce", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclAlltoAll", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclAlltoAllV", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclAlltoAllVC", anyNumber, anyNumber, anyNumber, 0},
    {"HcclBatchSendRecv", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclBroadcast", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclCreateSubCommConfig", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclRecv", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclReduce", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclReduceScatter", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclReduceScatterV", anyNumber, anyNumber, anyNumber, 0},
    {"HcclScatter", anyNumber, anyNumber, anyNumber, anyNumber},
    {"HcclSend", anyNumber, anyNumber, anyNumber, anyNumber},
};

size_t mostRanks(const Row& row) {
    switch (chip()) {
        case Chip::A5: return row.a5;
        case Chip::A3: return row.a3;
        case Chip::A2: return row.a2;
        case Chip::A910: return row.a910;
    }
    fatal("no chip");
}

template <class... Types>
bool isOneOf(int type, Types... types) {
    return ((type == types) || ...);
}

bool isFloat8Kind(int type) { return type >= HCCL_DATA_TYPE_HIF8 && type <= HCCL_DATA_TYPE_FP8E8M0; }

bool canReduceAtAll(int type) {
    bool common = isOneOf(type, HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32);
    bool wide = isOneOf(type, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_BFP16);
    switch (chip()) {
        case Chip::A5: return common || wide || isOneOf(type, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_FP64);
        case Chip::A910: return common || type == HCCL_DATA_TYPE_INT64;
        default: return common || wide;
    }
}

bool canReduceUneven(int type, int op) {
    bool bounded = isOneOf(op, HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN);
    switch (chip()) {
        case Chip::A5:
            return isOneOf(type, HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_INT64,
                           HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32, HCCL_DATA_TYPE_BFP16);
        case Chip::A3: return bounded;
        case Chip::A2: return bounded && type != HCCL_DATA_TYPE_INT64;
        default: return false;
    }
}

}  // namespace

Chip chip() {
    static const Chip one = [] {
        const char* text = std::getenv("MOCK_HCCL_CHIP");
        std::string name = text == nullptr ? "A2" : text;
        if (name == "A2") return Chip::A2;
        if (name == "A3") return Chip::A3;
        if (name == "A5") return Chip::A5;
        if (name == "910A") return Chip::A910;
        fatal("MOCK_HCCL_CHIP: no chip %s", name.c_str());
    }();
    return one;
}

Support supports(const char* function, size_t ranks) {
    for (const Row& row : manual) {
        if (std::strcmp(row.function, function) != 0) continue;
        return ranks <= mostRanks(row) ? Support::Works : Support::Refused;
    }
    fatal("%s is not in the table of functions", function);
}

bool toDataType(int type, DataType* result) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8: *result = DataType::Int8; return true;
        case HCCL_DATA_TYPE_INT16: *result = DataType::Int16; return true;
        case HCCL_DATA_TYPE_INT32: *result = DataType::Int32; return true;
        case HCCL_DATA_TYPE_FP16: *result = DataType::Float16; return true;
        case HCCL_DATA_TYPE_FP32: *result = DataType::Float32; return true;
        case HCCL_DATA_TYPE_INT64: *result = DataType::Int64; return true;
        case HCCL_DATA_TYPE_UINT64: *result = DataType::Uint64; return true;
        case HCCL_DATA_TYPE_UINT8: *result = DataType::Uint8; return true;
        case HCCL_DATA_TYPE_UINT16: *result = DataType::Uint16; return true;
        case HCCL_DATA_TYPE_UINT32: *result = DataType::Uint32; return true;
        case HCCL_DATA_TYPE_FP64: *result = DataType::Float64; return true;
        case HCCL_DATA_TYPE_BFP16: *result = DataType::Bfloat16; return true;
        case HCCL_DATA_TYPE_FP8E4M3: *result = DataType::Float8e4m3; return true;
        case HCCL_DATA_TYPE_FP8E5M2: *result = DataType::Float8e5m2; return true;
        // These are only moved.
        case HCCL_DATA_TYPE_HIF8:
        case HCCL_DATA_TYPE_FP8E8M0: *result = DataType::Uint8; return true;
        default: return false;
    }
}

bool canReduce(Kind kind, int type, int op) {
    if (!canReduceAtAll(type)) return false;
    if (kind == Kind::ReduceScatterV) return canReduceUneven(type, op);
    if (op != HCCL_REDUCE_PROD) return true;
    return chip() == Chip::A910 || !isOneOf(type, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_BFP16);
}

bool canMove(int type) {
    bool old = chip() == Chip::A910;
    if (isFloat8Kind(type)) {
        bool numbered = acl::release.major > 8 || (acl::release.major == 8 && acl::release.minor >= 5);
        return chip() == Chip::A5 && numbered;
    }
    DataType ignored;
    return toDataType(type, &ignored) && !(old && type == HCCL_DATA_TYPE_BFP16);
}

}  // namespace mock::hccl
