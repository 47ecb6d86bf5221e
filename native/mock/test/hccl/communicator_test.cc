// Making and ending communicators, what calls check, and injected faults.
#include <cstring>
#include <fstream>

#include "harness.h"

namespace {

constexpr HcclDataType fp32 = HCCL_DATA_TYPE_FP32;

void sumTo(HcclComm comm, float expected) {
    aclrtStream stream = newStream();
    float* x = onDevice<float>(std::vector<float>(10, 1.0f));
    OK(HcclAllReduce(x, x, 10, fp32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(fetch(x, 10, stream)[9] == expected);
}

void names(const Context& context) {
    use(context.rank);
    HcclCommConfig config = newConfig(160, 2);
    std::strcpy(config.hcclCommName, "mine");
    std::strcpy(config.hcclUdi, "not of this version");
    config.hcclBufferSize = 20;
    HcclComm comm = nullptr;
    OK(HcclCommInitRootInfoConfig(2, &context.id, static_cast<uint32_t>(context.rank), &config, &comm));
    HcclCommConfig seen;
    OK(mockHcclLastConfig(&seen));
    CHECK(seen.hcclBufferSize == 20 && std::strcmp(seen.hcclCommName, "mine") == 0 && seen.hcclUdi[0] == 0);
    char name[129];
    name[128] = 77;
    OK(HcclGetCommName(comm, name));
    CHECK(std::strcmp(name, "mine") == 0 && name[128] == 77);
    uint32_t number = 99;
    OK(HcclGetRankSize(comm, &number));
    CHECK(number == 2);
    OK(HcclGetRankId(comm, &number));
    CHECK(number == static_cast<uint32_t>(context.rank));
    HcclComm again = nullptr;
    OK(HcclCommGetHandleWithName("mine", &again));
    CHECK(again == comm);
    sumTo(comm, 2.0f);
    OK(HcclCommSuspend(comm));
    float* x = onDevice<float>(1);
    EXPECT(HCCL_E_SUSPENDING, HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, newStream()));
    OK(HcclCommResume(comm));
    sumTo(comm, 2.0f);
    OK(HcclCommDestroy(comm));
    OK(HcclCommDestroy(nullptr));
}

void configs(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    auto attempt = [&](const HcclCommConfig& config) {
        return HcclCommInitRootInfoConfig(1, &context.id, 0, &config, &comm);
    };
    HcclCommConfig config = newConfig(2232, 9);
    config.magic = 0xF0F0F0F1u;
    EXPECT(HCCL_E_PARA, attempt(config));
    config = newConfig(2256, 9);
    EXPECT(HCCL_E_PARA, attempt(config));
    config = newConfig(32, 1);
    config.hcclBufferSize = 0;
    EXPECT(HCCL_E_PARA, attempt(config));
    config = newConfig(32, 1);
    config.hcclDeterministic = 3;
    EXPECT(HCCL_E_PARA, attempt(config));
    config = newConfig(300, 5);
    config.hcclRdmaTrafficClass = 6;
    EXPECT(HCCL_E_PARA, attempt(config));
    config = newConfig(160, 2);
    std::memset(config.hcclCommName, 'x', 128);
    EXPECT(HCCL_E_PARA, attempt(config));
    EXPECT(HCCL_E_PTR, HcclCommInitRootInfoConfig(1, &context.id, 0, nullptr, &comm));
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(0, &context.id, 0, &comm));
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(1, &context.id, 1, &comm));
    HcclRootInfo shortened = context.id;
    shortened.internal[4107] ^= 1;
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(1, &shortened, 0, &comm));
    config = newConfig(32, 1);
    config.hcclBufferSize = HCCL_NOT_SET;
    OK(attempt(config));
    HcclComm second = nullptr;
    CHECK(HcclCommInitRootInfo(1, &context.id, 0, &second) != HCCL_SUCCESS);
}

void rootInfoSize(const Context&) {
    use(0);
    char bytes[HCCL_ROOT_INFO_BYTES + 4];
    std::memset(bytes, 77, sizeof bytes);
    OK(HcclGetRootInfo(reinterpret_cast<HcclRootInfo*>(bytes)));
    for (int i = 0; i < 4; ++i) CHECK(bytes[HCCL_ROOT_INFO_BYTES + i] == 77);
}

void arguments(const Context& context) {
    HcclComm comm = join(context);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(64);
    float host[4] = {};
    auto reduce = [&](void* send, void* recv, uint64_t count, int type, int op, aclrtStream on) {
        return HcclAllReduce(send, recv, count, static_cast<HcclDataType>(type), static_cast<HcclReduceOp>(op), comm,
                             on);
    };
    OK(reduce(nullptr, nullptr, 0, 99, 99, nullptr));
    EXPECT(HCCL_E_PTR, reduce(nullptr, x, 1, 99, 0, stream));
    EXPECT(HCCL_E_PTR, HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, nullptr, stream));
    EXPECT(HCCL_E_PARA, reduce(x, x, 0x800000000ull, 99, 0, stream));
    EXPECT(HCCL_E_NOT_SUPPORT, reduce(x, x, 1, 99, 0, nullptr));
    EXPECT(HCCL_E_NOT_SUPPORT, reduce(x, x, 1, fp32, 4, stream));
    EXPECT(HCCL_E_NOT_SUPPORT, reduce(x, x, 1, HCCL_DATA_TYPE_UINT8, 0, stream));
    EXPECT(HCCL_E_NOT_SUPPORT, reduce(x, x, 1, HCCL_DATA_TYPE_FP64, 0, stream));
    EXPECT(HCCL_E_NOT_SUPPORT, reduce(x, x, 1, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_PROD, stream));
    EXPECT(HCCL_E_PTR, reduce(x, x, 1, fp32, 0, nullptr));
    EXPECT(HCCL_E_PARA, reduce(host, x, 1, fp32, 0, stream));
    EXPECT(HCCL_E_PARA, reduce(reinterpret_cast<char*>(x) + 2, x, 1, fp32, 0, stream));
    EXPECT(HCCL_E_PARA, HcclBroadcast(x, 1, fp32, 1, comm, stream));
    EXPECT(HCCL_E_PTR, HcclReduce(x, nullptr, 1, fp32, HCCL_REDUCE_SUM, 0, comm, stream));
    EXPECT(HCCL_E_PARA, HcclAlltoAll(x, 1, fp32, x, 1, fp32, comm, stream));
    EXPECT(HCCL_E_PARA, HcclAlltoAll(x, 1, fp32, x + 8, 2, fp32, comm, stream));
    EXPECT(HCCL_E_NOT_SUPPORT, HcclAllGather(x, x + 8, 1, HCCL_DATA_TYPE_FP8E4M3, comm, stream));
    uint64_t one = 1, two = 2, zero = 0;
    EXPECT(HCCL_E_PARA, HcclAllGatherV(x, 1, x + 8, &two, &zero, fp32, comm, stream));
    EXPECT(HCCL_E_PTR, HcclAlltoAllV(x, nullptr, &zero, fp32, x + 8, &one, &zero, fp32, comm, stream));
    HcclSendRecvItem item{static_cast<HcclSendRecvType>(2), x, 1, fp32, 0};
    EXPECT(HCCL_E_PARA, HcclBatchSendRecv(&item, 1, comm, stream));
    OK(HcclBatchSendRecv(nullptr, 0, comm, stream));
    OK(aclrtSetDevice(1));
    aclrtStream other = newStream();
    OK(aclrtSetDevice(0));
    EXPECT(HCCL_E_RUNTIME, reduce(x, x, 1, fp32, 0, other));
    std::thread([&] { EXPECT(HCCL_E_RUNTIME, reduce(x, x, 1, fp32, 0, stream)); }).join();
    std::thread([&] {
        OK(aclrtSetDevice(1));
        EXPECT(HCCL_E_PARA, HcclCommDestroy(comm));
    }).join();
    HcclConfigValue value{3};
    EXPECT(HCCL_E_PARA, HcclSetConfig(HCCL_DETERMINISTIC, value));
    value.value = 1;
    OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
    value.value = 0;
    OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
    CHECK(value.value == 1);
    CHECK(std::strcmp(HcclGetErrorString(HCCL_E_PARA), "parameter error") == 0);
    CHECK(HcclGetErrorString(static_cast<HcclResult>(4711)) != nullptr);
    HcclCommDestroy(comm);
    HcclResult ignored;
    HcclGetCommAsyncError(comm, &ignored);
}

void switchesDevice(const Context& context) {
    HcclComm comm = join(context);
    float* x = onDevice<float>(1);
    OK(aclrtSetDevice(1));
    HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, newStream());
}

void resetTooEarly(const Context& context) {
    join(context);
    aclrtResetDevice(0);
}

void overrun(const Context& context) {
    HcclComm comm = join(context);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(10);
    HcclAllReduce(x, x, 11, fp32, HCCL_REDUCE_SUM, comm, stream);
    aclrtSynchronizeStream(stream);
}

void subCommunicators(const Context& context) {
    HcclComm comm = join(context);
    auto me = static_cast<uint32_t>(context.rank);
    HcclCommConfig config = newConfig(32, 1);
    // Overlapping members and not all ranks, twice under the same number.
    for (int round = 0; round < 2; ++round) {
        for (uint32_t other : {1u, 2u, 3u}) {
            HcclComm sub = nullptr;
            uint32_t members[] = {0, other};
            if (me != 0 && me != other) {
                OK(HcclCreateSubCommConfig(&comm, 0, nullptr, 0xFFFFFFFFu, 0, &config, &sub));
                CHECK(sub == nullptr);
                continue;
            }
            OK(HcclCreateSubCommConfig(&comm, 2, members, other, me == 0 ? 0 : 1, &config, &sub));
            uint32_t rank = 9;
            OK(HcclGetRankId(sub, &rank));
            CHECK(rank == (me == 0 ? 0u : 1u));
            char name[128];
            OK(HcclGetCommName(sub, name));
            CHECK(std::strstr(name, "_sub_") != nullptr);
            sumTo(sub, 2.0f);
            HcclComm child = nullptr;
            EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&sub, 1, members, 5, 0, &config, &child));
            OK(HcclCommDestroy(sub));
        }
    }
    uint32_t wrong[] = {0, 0};
    HcclComm sub = nullptr;
    EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 2, wrong, 7, 0, &config, &sub));
    // The manual wants ascending numbers.
    uint32_t reversed[] = {3, 2, 1, 0};
    EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 4, reversed, 7, 3 - me, &config, &sub));
    sumTo(comm, 4.0f);
    OK(HcclCommDestroy(comm));
}

std::string tablePath() { return "/tmp/mock-hccl-table-" + std::to_string(getppid()) + ".json"; }

std::string goodTable() {
    return R"({ "version": "1.0", "status": "completed", "server_count": "2", "server_list": [
        { "server_id": "10.0.0.1", "device": [ { "device_id": "1", "device_ip": "192.168.0.1", "rank_id": "0" } ] },
        { "server_id": "10.0.0.2", "device": [ { "device_id": "1", "device_ip": "192.168.0.2", "rank_id": "1" } ] } ] })";
}

HcclResult withTable(const std::string& text, HcclComm* comm, uint32_t rank = 0) {
    std::string path = "/tmp/mock-hccl-table-" + std::to_string(getpid()) + ".json";
    std::ofstream(path) << text;
    HcclResult result = HcclCommInitClusterInfo(path.c_str(), rank, comm);
    unlink(path.c_str());
    return result;
}

void rankTable(const Context& context) {
    use(1);
    std::string path = tablePath();
    std::string own = path + "." + std::to_string(context.rank);
    std::ofstream(own) << goodTable();
    CHECK(rename(own.c_str(), path.c_str()) == 0);
    for (int round = 0; round < 2; ++round) {
        HcclComm comm = nullptr;
        HcclCommConfig config = newConfig(32, 1);
        auto rank = static_cast<uint32_t>(context.rank);
        OK(HcclCommInitClusterInfoConfig(path.c_str(), rank, &config, &comm));
        sumTo(comm, 2.0f);
        HcclComm sub = nullptr;
        uint32_t members[] = {0, 1};
        OK(HcclCreateSubCommConfig(&comm, 2, members, 1, rank, &config, &sub));
        sumTo(sub, 2.0f);
        OK(HcclCommDestroy(sub));
        OK(HcclCommDestroy(comm));
    }
    unlink(path.c_str());
}

void badTables(const Context&) {
    use(1);
    HcclComm comm = nullptr;
    auto changed = [](const std::string& from, const std::string& to) {
        std::string table = goodTable();
        size_t at = table.find(from);
        CHECK(at != std::string::npos);
        return table.replace(at, from.size(), to);
    };
    EXPECT(HCCL_E_PARA, HcclCommInitClusterInfo("/tmp/none.json", 0, &comm));
    EXPECT(HCCL_E_PARA, withTable("{", &comm));
    EXPECT(HCCL_E_PARA, withTable(goodTable(), &comm, 2));
    EXPECT(HCCL_E_TIMEOUT, withTable(changed("completed", "initializing"), &comm));
    EXPECT(HCCL_E_NOT_SUPPORT, withTable(changed("\"1.0\"", "\"3.0\""), &comm));
    EXPECT(HCCL_E_PARA, withTable(changed("\"server_count\": \"2\"", "\"server_count\": \"1\""), &comm));
    EXPECT(HCCL_E_PARA, withTable(changed("\"rank_id\": \"0\"", "\"rank_id\": 0"), &comm));
    EXPECT(HCCL_E_PARA, withTable(changed("\"rank_id\": \"1\"", "\"rank_id\": \"2\""), &comm));
    EXPECT(HCCL_E_PARA, withTable(changed("10.0.0.2", "10.0.0.1"), &comm));
    EXPECT(HCCL_E_PARA, withTable(changed("\"device_ip\": \"192.168.0.1\", ", ""), &comm));
    EXPECT(HCCL_E_UNAVAIL, withTable(changed("\"device_id\": \"1\"", "\"device_id\": \"3\""), &comm));
    EXPECT(HCCL_E_TIMEOUT, withTable(goodTable(), &comm));
    EXPECT(HCCL_E_TIMEOUT, withTable(goodTable(), &comm, 1));
}

void failAt(const Context& context) {
    HcclComm comm = join(context);
    sumTo(comm, 2.0f);
    float* x = onDevice<float>(1);
    aclrtStream stream = newStream();
    EXPECT(context.rank == 1 ? 7 : 0, HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, stream));
}

/** Destroying is how a stuck operation is ended; its stream shows an error. */
void asyncFailAt(const Context& context) {
    HcclComm comm = join(context);
    sumTo(comm, 2.0f);
    float* x = onDevice<float>(1);
    aclrtStream stream = newStream();
    OK(HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, stream));
    HcclResult state = HCCL_SUCCESS;
    if (context.rank == 0) {
        while (state == HCCL_SUCCESS) OK(HcclGetCommAsyncError(comm, &state));
        CHECK(state == HCCL_E_REMOTE);
    } else {
        EXPECT(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 100));
        OK(HcclGetCommAsyncError(comm, &state));
        CHECK(state == HCCL_SUCCESS);
    }
    OK(HcclCommDestroy(comm));
    EXPECT(ACL_ERROR_RT_MODEL_EXECUTE, aclrtSynchronizeStream(stream));
}

void executionTimeout(const Context& context) {
    HcclComm comm = join(context);
    if (context.rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        return;
    }
    float* x = onDevice<float>(1);
    aclrtStream stream = newStream();
    OK(HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, stream));
    EXPECT(ACL_ERROR_RT_MODEL_EXECUTE, aclrtSynchronizeStream(stream));
    HcclResult state = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(comm, &state));
    CHECK(state == HCCL_E_REMOTE);
}

void connectTimeout(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    EXPECT(HCCL_E_TIMEOUT, HcclCommInitRootInfo(2, &context.id, 0, &comm));
}

void destroyAgain(const Context& context) {
    HcclComm comm = join(context);
    sumTo(comm, 1.0f);
    EXPECT(HCCL_E_AGAIN, HcclCommDestroy(comm));
    EXPECT(HCCL_E_AGAIN, HcclCommDestroy(comm));
    OK(HcclCommDestroy(comm));
}

void mismatch(const Context& context) {
    HcclComm comm = join(context);
    float* x = onDevice<float>(8);
    aclrtStream stream = newStream();
    OK(HcclAllReduce(x, x, static_cast<uint64_t>(context.rank + 1), fp32, HCCL_REDUCE_SUM, comm, stream));
    HcclResult state = HCCL_SUCCESS;
    while (state == HCCL_SUCCESS) OK(HcclGetCommAsyncError(comm, &state));
    CHECK(state == HCCL_E_IN_STATUS);
}

void slowRank(const Context& context) {
    HcclComm comm = join(context);
    auto start = std::chrono::steady_clock::now();
    sumTo(comm, 2.0f);
    CHECK(std::chrono::steady_clock::now() - start > std::chrono::milliseconds(80));
}

void sameDevice(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    EXPECT(HCCL_E_INTERNAL, HcclCommInitRootInfo(2, &context.id, static_cast<uint32_t>(context.rank), &comm));
}

/** Each process sees one device, and calls it 0. */
void visibleRanks(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    OK(HcclCommInitRootInfo(2, &context.id, static_cast<uint32_t>(context.rank), &comm));
    sumTo(comm, 2.0f);
}

}  // namespace

void addCommunicatorCases(std::vector<Case>& cases) {
    const std::string soon = "MOCK_HCCL_CONNECT_TIMEOUT_MS=150";
    cases.push_back({"names, suspend", 2, {}, names});
    cases.push_back({"configurations", 1, {}, configs});
    cases.push_back({"root info size", 1, {}, rootInfoSize});
    cases.push_back({"arguments", 1, {}, arguments, SIGABRT});
    cases.push_back({"thread switches its device", 1, {}, switchesDevice, SIGABRT});
    cases.push_back({"device reset too early", 1, {}, resetTooEarly, SIGABRT});
    cases.push_back({"collective overruns", 1, {}, overrun, SIGABRT});
    cases.push_back({"sub-communicators", 4, {"MOCK_DELAY_US=100"}, subCommunicators});
    cases.push_back({"rank table", 2, {}, rankTable});
    cases.push_back({"bad rank tables", 1, {soon}, badTables});
    cases.push_back({"fail at", 2, {"MOCK_HCCL_FAIL_AT=2:7", "MOCK_HCCL_FAULT_RANK=1"}, failAt});
    cases.push_back({"asynchronous error at", 2, {"MOCK_HCCL_ASYNC_FAIL_AT=2", "MOCK_HCCL_FAULT_RANK=0"}, asyncFailAt});
    cases.push_back({"execution timeout", 2, {"MOCK_HCCL_EXEC_TIMEOUT_MS=200"}, executionTimeout});
    cases.push_back({"connect timeout", 1, {soon}, connectTimeout});
    cases.push_back({"destroy again", 1, {"MOCK_HCCL_DESTROY_AGAIN=2"}, destroyAgain});
    cases.push_back({"mismatch reported", 2, {"MOCK_HCCL_MISMATCH=error"}, mismatch});
    cases.push_back({"slow rank", 2, {"MOCK_HCCL_SLOW_RANK=1:100000"}, slowRank});
    cases.push_back({"same device", 2, {}, sameDevice});
    cases.push_back({"one visible device each",
                     2,
                     {},
                     visibleRanks,
                     0,
                     {"0 ASCEND_RT_VISIBLE_DEVICES=2", "1 ASCEND_RT_VISIBLE_DEVICES=3"}});
}
