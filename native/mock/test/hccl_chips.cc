// Which functions each chip has: the mock against a second reading of the manual's pages, a case for each cell.
#include <algorithm>
#include <map>

#include "hccl.h"

namespace {

/** What one call of a function needs; every rank has room for 16 elements on both sides. */
struct Rank {
    uint32_t rank, size;
    HcclComm comm;
    aclrtStream stream;
    float *send, *receive;
    std::vector<uint64_t> ones, places, matrix;
};

using Call = HcclResult (*)(Rank&);

const std::map<std::string, Call>& calls() {
    static const std::map<std::string, Call> all{
        {"HcclAllGather", [](Rank& r) { return HcclAllGather(r.send, r.receive, 1, fp32, r.comm, r.stream); }},
        {"HcclAllGatherV",
         [](Rank& r) {
             return HcclAllGatherV(r.send, 1, r.receive, r.ones.data(), r.places.data(), fp32, r.comm, r.stream);
         }},
        {"HcclAllReduce",
         [](Rank& r) { return HcclAllReduce(r.send, r.receive, 1, fp32, HCCL_REDUCE_SUM, r.comm, r.stream); }},
        {"HcclAlltoAll",
         [](Rank& r) { return HcclAlltoAll(r.send, 1, fp32, r.receive, 1, fp32, r.comm, r.stream); }},
        {"HcclAlltoAllV",
         [](Rank& r) {
             return HcclAlltoAllV(r.send, r.ones.data(), r.places.data(), fp32, r.receive, r.ones.data(),
                                  r.places.data(), fp32, r.comm, r.stream);
         }},
        {"HcclAlltoAllVC",
         [](Rank& r) { return HcclAlltoAllVC(r.send, r.matrix.data(), fp32, r.receive, fp32, r.comm, r.stream); }},
        {"HcclBatchSendRecv",
         [](Rank& r) {
             HcclSendRecvItem items[] = {{HCCL_SEND, r.send, 1, fp32, (r.rank + 1) % r.size},
                                         {HCCL_RECV, r.receive, 1, fp32, (r.rank + r.size - 1) % r.size}};
             return HcclBatchSendRecv(items, 2, r.comm, r.stream);
         }},
        {"HcclBroadcast", [](Rank& r) { return HcclBroadcast(r.receive, 1, fp32, 0, r.comm, r.stream); }},
        {"HcclCreateSubCommConfig",
         [](Rank& r) {
             HcclCommConfig config = newConfig(32, 1);
             uint32_t members[] = {r.rank};
             HcclComm sub = nullptr;
             HcclResult created = HcclCreateSubCommConfig(&r.comm, 1, members, r.rank, 0, &config, &sub);
             if (created == HCCL_SUCCESS) OK(HcclCommDestroy(sub));
             return created;
         }},
        {"HcclSend, HcclRecv",
         [](Rank& r) {
             return r.rank == 0   ? HcclSend(r.send, 1, fp32, 1, r.comm, r.stream)
                    : r.rank == 1 ? HcclRecv(r.receive, 1, fp32, 0, r.comm, r.stream)
                                  : HcclSend(r.send, 0, fp32, 0, r.comm, r.stream);
         }},
        {"HcclReduce",
         [](Rank& r) { return HcclReduce(r.send, r.receive, 1, fp32, HCCL_REDUCE_SUM, 0, r.comm, r.stream); }},
        {"HcclReduceScatter",
         [](Rank& r) { return HcclReduceScatter(r.send, r.receive, 1, fp32, HCCL_REDUCE_SUM, r.comm, r.stream); }},
        {"HcclReduceScatterV",
         [](Rank& r) {
             return HcclReduceScatterV(r.send, r.ones.data(), r.places.data(), r.receive, 1, fp32, HCCL_REDUCE_SUM,
                                       r.comm, r.stream);
         }},
        {"HcclScatter", [](Rank& r) { return HcclScatter(r.send, r.receive, 1, fp32, 0, r.comm, r.stream); }},
    };
    return all;
}

struct Chip {
    const char* name;
    const char* soc;
    std::vector<std::string> lacks;
};

/** The pages' "Applicable Products". */
const std::vector<Chip>& chips() {
    static const std::vector<Chip> all{
        {"A5", "Ascend950PR_9589", {}},
        {"A3", "Ascend910_9391", {}},
        {"A2", "Ascend910B3", {}},
        {"910A", "Ascend910A", {"HcclAllGatherV", "HcclAlltoAllVC", "HcclReduceScatterV"}},
    };
    return all;
}

Rank start(const Context& context) {
    auto size = static_cast<uint32_t>(context.size);
    Rank r{static_cast<uint32_t>(context.rank), size, join(context), newStream(), nullptr, nullptr, {}, {}, {}};
    r.send = onDevice(std::vector<float>(16, static_cast<float>(r.rank + 1)));
    r.receive = onDevice(std::vector<float>(16, static_cast<float>(10 * (r.rank + 1))));
    for (uint32_t i = 0; i < size; ++i) {
        r.ones.push_back(1);
        r.places.push_back(i);
    }
    r.matrix.assign(size * size, 1);
    return r;
}

void expect(const Context& context, const std::string& function, HcclResult result) {
    Rank r = start(context);
    EXPECT(result, calls().at(function)(r));
    OK(aclrtSynchronizeStream(r.stream));
    OK(HcclCommDestroy(r.comm));
}

}  // namespace

void addChipCases(std::vector<Case>& cases) {
    for (const Chip& chip : chips()) {
        std::vector<std::string> environment{std::string("MOCK_HCCL_CHIP=") + chip.name, "MOCK_DEVICES=8"};
        std::string prefix = std::string("chip ") + chip.name + ", ";
        const char* soc = chip.soc;
        cases.push_back({prefix + "name", 1, environment, [soc](const Context&) {
                             CHECK(std::string(aclrtGetSocName()) == soc);
                         }});
        for (const auto& [name, ignored] : calls()) {
            std::string function = name;
            bool lacks = std::find(chip.lacks.begin(), chip.lacks.end(), function) != chip.lacks.end();
            HcclResult result = lacks ? HCCL_E_NOT_SUPPORT : HCCL_SUCCESS;
            cases.push_back({prefix + function, 2, environment,
                             [function, result](const Context& c) { expect(c, function, result); }});
        }
    }
}
