// Devices, memory, streams and events of ACL.
#include <cstring>

#include "harness.h"

namespace {

constexpr uint64_t n = 1000;

void deviceOfThread(const Context&) {
    int32_t device = -1;
    EXPECT(ACL_ERROR_UNINITIALIZE, aclrtSetDevice(0));
    use(1);
    EXPECT(ACL_ERROR_REPEAT_INITIALIZE, aclInit(nullptr));
    OK(aclrtGetDevice(&device));
    CHECK(device == 1);
    void* memory = nullptr;
    std::thread([&] {
        EXPECT(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDevice(&device));
        EXPECT(ACL_ERROR_RT_CONTEXT_NULL, aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(std::strstr(aclGetRecentErrMsg(), "aclrtMalloc") != nullptr);
        CHECK(aclGetRecentErrMsg() == nullptr);
        HcclRootInfo info;
        EXPECT(HCCL_E_RUNTIME, HcclGetRootInfo(&info));
        EXPECT(HCCL_E_RUNTIME, HcclCommDestroy(nullptr));
        OK(aclrtSetDevice(1));
        OK(aclrtResetDevice(1));
        OK(aclrtGetDevice(&device));
    }).join();
    // The first call of all failed on this thread; the other thread's failures are not seen here.
    CHECK(std::strstr(aclGetRecentErrMsg(), "aclInit: called before") != nullptr);
    aclrtStream stream = newStream();
    OK(aclrtSetDevice(2));
    EXPECT(ACL_ERROR_RT_STREAM_CONTEXT, aclrtSynchronizeStream(stream));
    EXPECT(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(4));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
    OK(aclrtResetDevice(1));
    EXPECT(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDevice(&device));
    OK(aclFinalize());
    EXPECT(ACL_ERROR_REPEAT_FINALIZE, aclFinalize());
    EXPECT(ACL_ERROR_UNINITIALIZE, aclrtSetDevice(0));
}

void visibleDevices(const Context&) {
    use(0);
    uint32_t count = 0;
    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 2);
    int32_t physical = -1;
    OK(aclrtGetPhyDevIdByLogicDevId(1, &physical));
    CHECK(physical == 2);
}

void memory(const Context&) {
    use(0);
    void* address = nullptr;
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&address, 8, static_cast<aclrtMemMallocPolicy>(9)));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtFree(nullptr));
    float* x = onDevice<float>(std::vector<float>(n, 2.0f));
    std::vector<float> host(n);
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(host.data(), 4, x, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtMemcpy(host.data(), 8, x, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemset(x, 8, 0, 8));
    CHECK(read(x, n)[1] == 0.0f && read(x, n)[2] == 2.0f);
    size_t available = 0, total = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &available, &total));
    CHECK(total > available && available > 0);
    OK(aclrtGetMemInfo(ACL_DDR_MEM, &available, &total));
    CHECK(total == 0);
    OK(aclrtFree(x));
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtFree(x));
}

void copiesInOrder(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(n);
    void* pinned = nullptr;
    OK(aclrtMallocHost(&pinned, n * sizeof(float)));
    OK(mockAclFill(x, 5.0f, n, stream));
    OK(aclrtMemcpyAsync(pinned, n * 4, x, n * 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(static_cast<float*>(pinned)[n - 1] == 5.0f);
    OK(aclrtFreeHost(pinned));
    OK(aclrtDestroyStream(stream));
    EXPECT(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream));
}

/** A copy at once has no order with a stream. */
void missingSynchronize(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    int wrong = 0;
    for (int i = 0; i < 20; ++i) {
        float* x = onDevice<float>(std::vector<float>(n, 1.0f));
        OK(mockAclFill(x, 2.0f, n, stream));
        wrong += read(x, n)[n - 1] != 2.0f;
        CHECK(fetch(x, n, stream)[n - 1] == 2.0f);
    }
    CHECK(wrong > 0);
}

void freeWithoutWaiting(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(n);
    OK(mockAclBusy(50000, stream));
    OK(mockAclFill(x, 1.0f, n, stream));
    OK(aclrtFree(x));
    aclrtSynchronizeStream(stream);
}

void extendedEvents(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtStream other = newStream();
    aclrtEvent event = newEvent();
    aclrtEventRecordedStatus status;
    OK(aclrtQueryEventStatus(event, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    for (int i = 0; i < 3; ++i) {
        OK(mockAclBusy(20000, stream));
        OK(aclrtRecordEvent(event, stream));
        OK(aclrtQueryEventStatus(event, &status));
        CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
        aclrtStreamStatus streamStatus;
        OK(aclrtStreamQuery(stream, &streamStatus));
        CHECK(streamStatus == ACL_STREAM_STATUS_NOT_READY);
        EXPECT(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, aclrtSynchronizeEventWithTimeout(event, 1));
        EXPECT(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 1));
        OK(aclrtStreamWaitEvent(other, event));
        OK(aclrtSynchronizeStream(other));
        OK(aclrtQueryEventStatus(event, &status));
        CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    }
    aclrtEventStatus old;
    EXPECT(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtResetEvent(event, stream));
    EXPECT(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEvent(event, &old));
    aclrtEvent timed = newEvent(ACL_EVENT_TIME_LINE);
    EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEvent(other, timed));
    float milliseconds = -1;
    EXPECT(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&milliseconds, event, timed));
    aclrtEvent first = newEvent(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
    OK(aclrtRecordEvent(first, stream));
    OK(mockAclBusy(3000, stream));
    OK(aclrtRecordEvent(timed, stream));
    EXPECT(ACL_ERROR_RT_EVENT_NOT_COMPLETE, aclrtEventElapsedTime(&milliseconds, first, timed));
    OK(aclrtSynchronizeEvent(timed));
    OK(aclrtEventElapsedTime(&milliseconds, first, timed));
    CHECK(milliseconds >= 2.5f);
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtCreateEventExWithFlag(&event, 0));
    OK(aclrtDestroyEvent(timed));
    EXPECT(ACL_ERROR_INVALID_PARAM, aclrtRecordEvent(timed, stream));
}

void oldEvents(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtStream other = newStream();
    aclrtEvent plain = nullptr;
    aclrtEvent flagged = nullptr;
    OK(aclrtCreateEvent(&plain));
    OK(aclrtCreateEventWithFlag(&flagged, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(plain, stream));
    OK(aclrtStreamWaitEvent(other, plain));
    OK(aclrtSynchronizeStream(other));
    aclrtEventStatus status;
    OK(aclrtQueryEvent(plain, &status));
    CHECK(status == ACL_EVENT_STATUS_COMPLETE);
    std::thread([&] {
        use(0);
        EXPECT(ACL_ERROR_RT_PARAM_INVALID, aclrtQueryEvent(plain, &status));
    }).join();
    for (int i = 0; i < 2; ++i) {
        OK(aclrtRecordEvent(flagged, stream));
        OK(aclrtStreamWaitEvent(other, flagged));
        OK(aclrtResetEvent(flagged, other));
    }
}

void recordedTwice(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtEvent event = nullptr;
    OK(aclrtCreateEvent(&event));
    OK(aclrtRecordEvent(event, stream));
    aclrtRecordEvent(event, stream);
}

void neverRecorded(const Context&) {
    use(0);
    aclrtEvent event = nullptr;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    aclrtStreamWaitEvent(newStream(), event);
}

void waitTimesOut(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    aclrtStream other = newStream();
    aclrtEvent event = newEvent();
    OK(aclrtSetOpWaitTimeout(1));
    OK(mockAclBusy(1500000, stream));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event));
    EXPECT(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(other));
    OK(aclrtSynchronizeStream(other));
}

void runtimeFault(const Context&) {
    use(0);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(n);
    OK(mockAclFill(x, 1.0f, n, stream));
    EXPECT(507018, mockAclFill(x, 1.0f, n, stream));
    OK(mockAclFill(x, 1.0f, n, stream));
}

/** Whose load-time handler is in the way of whoever wants the signal for itself. */
void tracedSignals(const Context&) {
    struct sigaction action = {};
    sigaction(SIGSEGV, nullptr, &action);
    bool wanted = std::strcmp(std::getenv("ASCEND_COREDUMP_SIGNAL"), "none") != 0;
    CHECK((action.sa_handler != SIG_DFL) == wanted);
}

}  // namespace

void addRuntimeCases(std::vector<Case>& cases) {
    cases.push_back({"device of a thread", 1, {}, deviceOfThread});
    cases.push_back({"visible devices", 1, {"ASCEND_RT_VISIBLE_DEVICES=1,2,9,3"}, visibleDevices});
    cases.push_back({"memory", 1, {}, memory});
    cases.push_back({"copies in order", 1, {"MOCK_DELAY_US=200"}, copiesInOrder});
    cases.push_back({"copies in order, inline", 1, {"MOCK_INLINE=1"}, copiesInOrder});
    cases.push_back({"missing synchronize", 1, {"MOCK_DELAY_US=2000"}, missingSynchronize});
    cases.push_back({"free without waiting", 1, {}, freeWithoutWaiting, SIGABRT});
    cases.push_back({"extended events", 1, {}, extendedEvents});
    cases.push_back({"old events", 1, {"MOCK_DELAY_US=100"}, oldEvents});
    cases.push_back({"old event recorded twice", 1, {}, recordedTwice, SIGABRT});
    cases.push_back({"old event never recorded", 1, {}, neverRecorded, SIGABRT});
    cases.push_back({"wait times out", 1, {}, waitTimesOut});
    cases.push_back({"runtime fault", 1, {"MOCK_RUNTIME_FAIL_AT=2:507018"}, runtimeFault});
    cases.push_back({"signals untouched", 1, {}, tracedSignals});
    cases.push_back({"signals taken", 1, {"ASCEND_COREDUMP_SIGNAL=None"}, tracedSignals});
}
