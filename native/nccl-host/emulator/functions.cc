#include "functions.h"

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "memory.h"

namespace emulator {

namespace {

// Made from the table of NCCL's own generator: one name for each number, as "AllReduce_Sum_f32_RING_SIMPLE".
const char* const names[] = {
#include "function_names.inc"
};

constexpr size_t count = sizeof names / sizeof names[0];

std::optional<Function> parse(const std::string& name) {
    static const std::map<std::string, ncclFunc_t> collectives = {
        {"Broadcast", ncclFuncBroadcast},         {"Reduce", ncclFuncReduce},
        {"AllGather", ncclFuncAllGather},         {"ReduceScatter", ncclFuncReduceScatter},
        {"AllReduce", ncclFuncAllReduce},         {"SendRecv", ncclFuncSendRecv},
        {"AllGatherV", ncclFuncAllGatherV},
    };
    static const std::map<std::string, ncclDevRedOp_t> ops = {
        {"Sum", ncclDevSum},
        {"Prod", ncclDevProd},
        {"MinMax", ncclDevMinMax},
        {"PreMulSum", ncclDevPreMulSum},
        {"SumPostDiv", ncclDevSumPostDiv},
    };
    static const std::map<std::string, ncclDataType_t> types = {
        {"i8", ncclInt8},       {"u8", ncclUint8},     {"i32", ncclInt32},           {"u32", ncclUint32},
        {"i64", ncclInt64},     {"u64", ncclUint64},   {"f16", ncclFloat16},         {"f32", ncclFloat32},
        {"f64", ncclFloat64},   {"bf16", ncclBfloat16}, {"f8e4m3", ncclFloat8e4m3}, {"f8e5m2", ncclFloat8e5m2},
    };
    std::vector<std::string> parts;
    std::istringstream text(name);
    for (std::string part; std::getline(text, part, '_');) parts.push_back(part);
    auto collective = collectives.find(parts[0]);
    if (collective == collectives.end()) return std::nullopt;
    Function result{collective->second};
    if (parts.size() == 1) return result;
    if (parts[parts.size() - 2] != "RING" || parts.back() != "SIMPLE") return std::nullopt;
    if (parts.size() == 5) {
        result.op = ops.at(parts[1]);
        result.type = types.at(parts[2]);
        result.reduces = true;
    }
    return result;
}

}  // namespace

const Function& function(int id) {
    static const auto* functions = [] {
        auto* all = new std::vector<std::optional<Function>>;
        for (const char* name : names) all->push_back(parse(name));
        return all;
    }();
    if (id < 0 || static_cast<size_t>(id) >= count) refuse("device function", "its number is out of range");
    const std::optional<Function>& found = (*functions)[static_cast<size_t>(id)];
    if (!found) refuse(names[id], "only NCCL_ALGO=RING with NCCL_PROTO=SIMPLE is emulated");
    return *found;
}

}  // namespace emulator
