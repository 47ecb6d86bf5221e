// What ACL and HCCL refuse, and what ends the process. That they work is for the binding's tests.
#include <cstring>
#include <dlfcn.h>
#include <fstream>

#include "hccl.h"

namespace {

std::vector<float> ones(size_t count) { return std::vector<float>(count, 1.0f); }

void deviceOfThread(const Context&) {
    EXPECT(ACL_ERROR_UNINITIALIZE, aclrtSetDevice(0));
    use(1);
    EXPECT(ACL_ERROR_REPEAT_INITIALIZE, aclInit(nullptr));
    std::thread([&] {
        void* memory = nullptr;
        EXPECT(ACL_ERROR_RT_CONTEXT_NULL, aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(std::strstr(aclGetRecentErrMsg(), "aclrtMalloc") != nullptr);
        CHECK(aclGetRecentErrMsg() == nullptr);
        HcclRootInfo info;
        EXPECT(HCCL_E_RUNTIME, HcclGetRootInfo(&info));
        EXPECT(HCCL_E_RUNTIME, HcclCommDestroy(nullptr));
    }).join();
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclInit: called before") != nullptr);
    aclrtStream stream = newStream();
    OK(aclrtSetDevice(2));
    EXPECT(ACL_ERROR_RT_STREAM_CONTEXT, aclrtSynchronizeStream(stream));
    EXPECT(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(4));
}

void memory(const Context&) {
    use(0);
    void* address = nullptr;
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&address, 8, static_cast<aclrtMemMallocPolicy>(9)));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtFree(nullptr));
    float* x = onDevice(ones(10));
    float host[2];
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(host, 4, x, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtMemcpy(host, 8, x, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtFree(x));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtFree(x));
    aclrtStream stream = newStream();
    OK(aclrtDestroyStream(stream));
    EXPECT(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream));
}

/** Page-locked memory is read and written when the stream comes to it. */
void pageLockedCopy(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    float* x = onDevice(ones(1));
    void* locked = nullptr;
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMallocHost(&locked, 0));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(nullptr));
    OK(aclrtMallocHost(&locked, 64));
    auto* host = static_cast<volatile float*>(locked);
    *host = 7;
    OK(mockAclBusy(200000, stream));
    OK(aclrtMemcpyAsync(locked, 4, x, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(*host == 7);
    OK(aclrtSynchronizeStream(stream));
    CHECK(*host == 1);
    OK(aclrtFreeHost(locked));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeHost(locked));
}

void freeWithoutWaiting(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    float* x = onDevice(ones(10));
    OK(mockAclBusy(50000, stream));
    OK(mockAclFill(x, 1.0f, 10, stream));
    OK(aclrtFree(x));
    aclrtSynchronizeStream(stream);
}

void events(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtEvent event = nullptr;
    aclrtEvent timed = nullptr;
    aclrtEvent old = nullptr;
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtCreateEventExWithFlag(&event, 0));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&timed, ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventWithFlag(&old, ACL_EVENT_SYNC));
    aclrtEventRecordedStatus status;
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtQueryEventStatus(old, &status));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(mockAclBusy(300000, stream));
    for (int i = 0; i < 2; ++i) OK(aclrtRecordEvent(event, stream));
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    aclrtEventWaitStatus waited;
    EXPECT(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEventWaitStatus(event, &waited));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEvent(stream, timed));
    float milliseconds = -1;
    EXPECT(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&milliseconds, event, timed));
    OK(aclrtDestroyEvent(timed));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtRecordEvent(timed, stream));
}

void recordedTwice(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtEvent event = nullptr;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(event, stream));
    aclrtRecordEvent(event, stream);
}

void neverRecorded(const Context&) {
    use(0);
    aclrtEvent event = nullptr;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    aclrtStreamWaitEvent(newStream(), event);
}

void configs(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    auto refuse = [&](const HcclCommConfig& config) {
        EXPECT(HCCL_E_PARA, HcclCommInitRootInfoConfig(1, &context.id, 0, &config, &comm));
    };
    HcclCommConfig config = newConfig(2232, 9);
    config.magic = 0xF0F0F0F1u;
    refuse(config);
    refuse(newConfig(2256, 9));
    config = newConfig(32, 1);
    config.hcclBufferSize = 0;
    refuse(config);
    config = newConfig(32, 1);
    config.hcclDeterministic = 3;
    refuse(config);
    config = newConfig(300, 5);
    config.hcclRdmaTrafficClass = 6;
    refuse(config);
    config = newConfig(160, 2);
    std::memset(config.hcclCommName, 'x', 128);
    refuse(config);
    EXPECT(HCCL_E_PTR, HcclCommInitRootInfoConfig(1, &context.id, 0, nullptr, &comm));
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(0, &context.id, 0, &comm));
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(1, &context.id, 1, &comm));
    HcclRootInfo shortened = context.id;
    shortened.internal[4107] ^= 1;
    EXPECT(HCCL_E_PARA, HcclCommInitRootInfo(1, &shortened, 0, &comm));
    config = newConfig(32, 1);
    config.hcclBufferSize = HCCL_NOT_SET;
    OK(HcclCommInitRootInfoConfig(1, &context.id, 0, &config, &comm));
    CHECK(HcclCommInitRootInfo(1, &context.id, 0, &comm) != HCCL_SUCCESS);
}

/** What a release's own library says to a configuration; its runtime is the one this program is linked with. */
HcclResult initialized(const char* release, const HcclCommConfig& config) {
    std::string path = std::string(std::getenv("MOCK_LIBRARIES")) + "/" + release + "/libhccl.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    auto rootInfo = reinterpret_cast<decltype(&HcclGetRootInfo)>(dlsym(library, "HcclGetRootInfo"));
    auto create =
        reinterpret_cast<decltype(&HcclCommInitRootInfoConfig)>(dlsym(library, "HcclCommInitRootInfoConfig"));
    use(0);
    HcclRootInfo info;
    OK(rootInfo(&info));
    HcclComm comm = nullptr;
    return create(1, &info, 0, &config, &comm);
}

void olderConfigs(const Context&) {
    HcclCommConfig unset = newConfig(32, 1);
    unset.hcclBufferSize = HCCL_NOT_SET;
    OK(initialized("cann-8.1", unset));
    for (uint32_t wrong : {HCCL_NOT_SET, 2u}) {
        unset.hcclDeterministic = wrong;
        EXPECT(HCCL_E_PARA, initialized("cann-8.1", unset));
    }
}

struct Release {
    const char* name;
    std::vector<const char*> has;
    std::vector<const char*> lacks;
};

/** In a process of its own: what is loaded first answers for the libraries of that name. */
void functionsOf(const Release& release) {
    std::string path = std::string(std::getenv("MOCK_LIBRARIES")) + "/" + release.name;
    void* acl = dlopen((path + "/libascendcl.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    void* hccl = dlopen((path + "/libhccl.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(acl != nullptr && hccl != nullptr);
    auto there = [&](const char* name) { return dlsym(acl, name) != nullptr || dlsym(hccl, name) != nullptr; };
    for (const char* name : release.has) CHECK(there(name));
    for (const char* name : release.lacks) CHECK(!there(name));
}

const std::vector<Release> releases{
    {"", {"aclrtGetPhyDevIdByLogicDevId", "HcclAllGatherV"}, {"HcclCommAbort", "HcclGather"}},
    {"cann-8.3", {"HcclAllGatherV", "aclsysGetCANNVersion"}, {"aclrtGetPhyDevIdByLogicDevId"}},
    {"cann-8.1", {"HcclAllGatherV", "aclsysGetCANNVersion"}, {"aclrtGetPhyDevIdByLogicDevId"}},
    {"cann-8.0", {"HcclCreateSubCommConfig", "HcclScatter"}, {"HcclAllGatherV", "aclsysGetCANNVersion"}},
};

void arguments(const Context& context) {
    HcclComm comm = join(context);
    aclrtStream stream = newStream();
    float* x = onDevice(ones(64));
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
    CHECK(HcclGetErrorString(static_cast<HcclResult>(4711)) != nullptr);
}

/** A rank that waits for another that never comes; returns when it is inside. */
template <class Create>
void occupy(Create create, const HcclRootInfo& info) {
    std::thread([create, info] {
        use(0);
        HcclComm comm = nullptr;
        create(2, &info, 0, &comm);
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

void formsTwoOnADevice(const Context& context) {
    occupy(HcclCommInitRootInfo, context.id);
    use(1);
    HcclRootInfo other;
    OK(HcclGetRootInfo(&other));
    HcclComm comm = nullptr;
    OK(HcclCommInitRootInfo(1, &other, 0, &comm));
    OK(HcclCommDestroy(comm));
    // A thread stays with its device.
    std::thread([] {
        use(0);
        HcclRootInfo info;
        OK(HcclGetRootInfo(&info));
        HcclComm none = nullptr;
        HcclCommInitRootInfo(1, &info, 0, &none);
    }).join();
}

void destroyedTwice(const Context& context) {
    HcclComm comm = join(context);
    OK(HcclCommDestroy(comm));
    HcclCommDestroy(comm);
}

void firstContact(const Context& context) {
    HcclComm comm = join(context);
    float* x = onDevice(ones(1));
    if (context.rank == 1) return;
    std::thread inside([&] {
        OK(aclrtSetDevice(context.rank));
        EXPECT(HCCL_E_TIMEOUT, HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, newStream()));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT(HCCL_E_AGAIN, HcclCommDestroy(comm));
    inside.join();
    OK(HcclCommDestroy(comm));
}

/** A stream that stops at errors never comes past one; another does. */
void failedTask(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    OK(aclrtSetStreamFailureMode(stream, 1));
    OK(mockAclBusy(1000, stream));
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    EXPECT(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStreamWithTimeout(stream, 5000));
    EXPECT(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_NOT_READY);
}

void switchesDevice(const Context& context) {
    HcclComm comm = join(context);
    float* x = onDevice(ones(1));
    OK(aclrtSetDevice(1));
    HcclAllReduce(x, x, 1, fp32, HCCL_REDUCE_SUM, comm, newStream());
}

void overrun(const Context& context) {
    HcclComm comm = join(context);
    aclrtStream stream = newStream();
    float* x = onDevice(ones(10));
    HcclAllReduce(x, x, 11, fp32, HCCL_REDUCE_SUM, comm, stream);
    aclrtSynchronizeStream(stream);
}

void subCommunicators(const Context& context) {
    HcclComm comm = join(context);
    auto me = static_cast<uint32_t>(context.rank);
    HcclCommConfig config = newConfig(32, 1);
    HcclComm sub = nullptr;
    uint32_t twice[] = {0, 0};
    EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 2, twice, 7, 0, &config, &sub));
    // The manual wants ascending numbers.
    uint32_t reversed[] = {1, 0};
    EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&comm, 2, reversed, 7, 1 - me, &config, &sub));
    OK(HcclCreateSubCommConfig(&comm, 0, nullptr, 0xFFFFFFFFu, 0, &config, &sub));
    CHECK(sub == nullptr);
    uint32_t members[] = {0, 1};
    OK(HcclCreateSubCommConfig(&comm, 2, members, 7, me, &config, &sub));
    HcclComm child = nullptr;
    EXPECT(HCCL_E_PARA, HcclCreateSubCommConfig(&sub, 2, members, 5, me, &config, &child));
}

/** What a rank gets for a table with one part replaced. */
void refuseTable(const std::string& good, HcclResult result, const std::string& from, const std::string& to,
                 uint32_t rank = 0) {
    std::string table = good;
    size_t at = table.find(from);
    CHECK(at != std::string::npos);
    std::string path = "/tmp/mock-hccl-table-" + std::to_string(getpid()) + ".json";
    std::ofstream(path) << table.replace(at, from.size(), to);
    HcclComm comm = nullptr;
    EXPECT(result, HcclCommInitClusterInfo(path.c_str(), rank, &comm));
    unlink(path.c_str());
}

/** Of the newest chips, whose numbers are not in quotes. */
void badNewTables(const Context&) {
    use(1);
    const std::string good = R"({ "version": "2.0", "rank_count": 2, "rank_list": [
        { "rank_id": 0, "local_id": 1, "device_id": 1, "level_list": [
          { "net_layer": 0, "net_instance_id": "a", "rank_addr_list": [
            { "addr_type": "IPV4", "addr": "10.0.0.1", "ports": ["0/1"] } ] } ] },
        { "rank_id": 1, "local_id": 2, "device_id": 2, "level_list": [
          { "net_layer": 0, "net_instance_id": "a", "rank_addr_list": [
            { "addr_type": "IPV4", "addr": "10.0.0.2", "ports": ["0/1"] } ] } ] } ] })";
    auto refuse = [&](const std::string& from, const std::string& to) {
        refuseTable(good, HCCL_E_PARA, from, to);
    };
    refuseTable(good, HCCL_E_PARA, "", "", 2);
    // All that is wrong is that the rank is on another device.
    refuseTable(good, HCCL_E_UNAVAIL, "\"device_id\": 1", "\"device_id\": 3");
    refuse("\"2.0\"", "\"1.0\"");
    refuse("\"rank_count\": 2", "\"rank_count\": 3");
    refuse("\"rank_count\": 2", "\"rank_count\": \"2\"");
    refuse("\"rank_id\": 1", "\"rank_id\": 0");
    refuse("\"local_id\": 1", "\"local_id\": 65");
    refuse("\"net_layer\": 0", "\"net_layer\": 8");
    refuse("\"net_instance_id\": \"a\"", "\"net_instance_id\": \"\"");
    refuse("IPV4", "IPv4");
    refuse("IPV4", "EID");
    refuse("[\"0/1\"]", "[]");
    refuse("\"ports\": [\"0/1\"] } ]", "\"ports\": [\"0/1\"] }, {} ]");
}

void newTableOnOlderChip(const Context&) {
    use(1);
    refuseTable(R"({ "version": "2.0", "status": "completed", "rank_count": 1, "rank_list": [] })", HCCL_E_NOT_SUPPORT, "",
                "");
}

void badTables(const Context&) {
    use(1);
    const std::string good =
        R"({ "version": "1.0", "status": "completed", "server_count": "2", "server_list": [
        { "server_id": "10.0.0.1", "device": [ { "device_id": "1", "device_ip": "192.168.0.1", "rank_id": "0" } ] },
        { "server_id": "10.0.0.2", "device": [ { "device_id": "1", "device_ip": "192.168.0.2", "rank_id": "1" } ] } ] })";
    auto refuse = [&](HcclResult result, const std::string& from, const std::string& to, uint32_t rank = 0) {
        refuseTable(good, result, from, to, rank);
    };
    HcclComm comm = nullptr;
    EXPECT(HCCL_E_PARA, HcclCommInitClusterInfo("/tmp/none.json", 0, &comm));
    refuse(HCCL_E_PARA, good, "{");
    refuse(HCCL_E_PARA, "", "", 2);
    refuse(HCCL_E_TIMEOUT, "completed", "initializing");
    refuse(HCCL_E_NOT_SUPPORT, "\"1.0\"", "\"3.0\"");
    refuse(HCCL_E_PARA, "\"server_count\": \"2\"", "\"server_count\": \"1\"");
    refuse(HCCL_E_PARA, "\"rank_id\": \"0\"", "\"rank_id\": 0");
    refuse(HCCL_E_PARA, "\"rank_id\": \"1\"", "\"rank_id\": \"2\"");
    refuse(HCCL_E_PARA, "10.0.0.2", "10.0.0.1");
    refuse(HCCL_E_PARA, "\"device_ip\": \"192.168.0.1\", ", "");
    refuse(HCCL_E_UNAVAIL, "\"device_id\": \"1\"", "\"device_id\": \"3\"");
}

void sameDevice(const Context& context) {
    use(0);
    HcclComm comm = nullptr;
    EXPECT(HCCL_E_INTERNAL, HcclCommInitRootInfo(2, &context.id, static_cast<uint32_t>(context.rank), &comm));
}

}  // namespace

int main(int count, char** args) {
    std::vector<Case> cases{
        {"device of a thread", 1, {}, deviceOfThread},
        {"memory", 1, {}, memory},
    {"page-locked copy", 1, {}, pageLockedCopy},
        {"free without waiting", 1, {}, freeWithoutWaiting, SIGABRT},
        {"events", 1, {}, events},
        {"old event recorded twice", 1, {}, recordedTwice, SIGABRT},
        {"old event never recorded", 1, {}, neverRecorded, SIGABRT},
        {"configurations", 1, {}, configs},
        {"configurations of older releases", 1, {}, olderConfigs},
        {"arguments", 1, {}, arguments},
        {"first contact", 2, {"MOCK_HCCL_CONNECT=500"}, firstContact},
        {"failed task", 1, {"MOCK_RUNTIME_TASK_FAIL_AT=1"}, failedTask},
        {"two formed on a device", 1, {}, formsTwoOnADevice, SIGABRT},
        {"destroyed twice", 1, {}, destroyedTwice, SIGABRT},
        {"thread switches its device", 1, {}, switchesDevice, SIGABRT},
        {"collective overruns", 1, {}, overrun, SIGABRT},
        {"sub-communicators", 2, {}, subCommunicators},
        {"bad rank tables", 1, {}, badTables},
        {"bad tables of newest chips", 1, {"MOCK_HCCL_CHIP=A5"}, badNewTables},
        {"newest table on older chip", 1, {}, newTableOnOlderChip},
        {"same device", 2, {}, sameDevice},
    };
    for (const Release& release : releases) {
        cases.push_back({std::string("functions of release ") + release.name, 1, {},
                         [&release](const Context&) { functionsOf(release); }});
    }
    addChipCases(cases);
    return Runner<HcclRootInfo>::main(count, args, cases, [](HcclRootInfo* id) {
        use(0);
        return HcclGetRootInfo(id) == HCCL_SUCCESS;
    });
}
