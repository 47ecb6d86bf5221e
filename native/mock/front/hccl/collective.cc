// The operators. Checks run in the documented order: a count of zero, null addresses, ranges, types, the stream.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "../../engine/comm/faults.h"
#include "front.h"
#include "support.h"

using namespace mock;
using namespace mock::hccl;

namespace {

/** The names of the functions that were called, since somebody asked. */
struct Names {
    std::mutex mutex;
    std::set<std::string> called;
};

Names& names() {
    static auto* one = new Names();
    return *one;
}

constexpr uint64_t largestCount = 0x7FFFFFFFFull;

struct Call {
    const char* name;
    Kind kind;
    const void* send;
    void* recv;
    uint64_t count;
    int type;
    int op;
    uint32_t root;
    HcclComm comm;
    aclrtStream stream;
    /** With a layout `count` is what ranks have to agree on. */
    std::shared_ptr<const Layout> layout = nullptr;
};

bool hasRoot(Kind kind) { return kind == Kind::Reduce || kind == Kind::Broadcast || kind >= Kind::Scatter; }

bool needsSend(const Call& call, const Communicator& ranks) {
    if (call.kind == Kind::Receive) return false;
    if (call.layout != nullptr)
        return *std::max_element(call.layout->sendCounts.begin(), call.layout->sendCounts.end()) > 0;
    return call.kind != Kind::Scatter || call.root == static_cast<uint32_t>(ranks.rank);
}

/** Also a receive buffer that only the root of a reduction writes has to be there on every rank. */
bool needsReceive(const Call& call) {
    if (call.kind == Kind::Send) return false;
    if (call.layout != nullptr) {
        return *std::max_element(call.layout->receiveCounts.begin(), call.layout->receiveCounts.end()) > 0;
    }
    return true;
}

HcclResult checkType(const Call& call) {
    bool fits = isReducing(call.kind) ? call.op >= HCCL_REDUCE_SUM && call.op <= HCCL_REDUCE_MIN &&
                                            canReduce(call.kind, call.type, call.op)
                                      : canMove(call.type);
    if (fits) return HCCL_SUCCESS;
    return fail(HCCL_E_NOT_SUPPORT, "%s: data type %d%s%s is not supported", call.name, call.type,
                isReducing(call.kind) ? " with reduce op " : "",
                isReducing(call.kind) ? std::to_string(call.op).c_str() : "");
}

HcclResult checkBuffer(const Call& call, const Communicator& ranks, const void* address) {
    if (vendorRuntime().deviceOf(address) != ranks.device) {
        return fail(HCCL_E_PARA, "%s: %p is no memory of device %d", call.name, address, ranks.device);
    }
    DataType type;
    toDataType(call.type, &type);
    if (isReducing(call.kind) && reinterpret_cast<uintptr_t>(address) % sizeOf(type) != 0) {
        return fail(HCCL_E_PARA, "%s: %p is not aligned to the element", call.name, address);
    }
    return HCCL_SUCCESS;
}

HcclResult findStream(const Call& call, const Communicator& ranks, Stream** stream) {
    if (call.stream == nullptr) return fail(HCCL_E_PTR, "%s: null stream", call.name);
    *stream = vendorRuntime().findStream(call.stream);
    if (*stream == nullptr) fatal("%s: %p is no live stream", call.name, static_cast<void*>(call.stream));
    if ((*stream)->device == ranks.device) return HCCL_SUCCESS;
    return fail(HCCL_E_RUNTIME, "%s: the stream is on device %d, the communicator on %d", call.name, (*stream)->device,
                ranks.device);
}

HcclResult check(const Call& call, const Comm& comm, Stream** stream) {
    const Communicator& ranks = *comm.ranks;
    bool sends = needsSend(call, ranks);
    bool receives = needsReceive(call);
    if ((sends && call.send == nullptr) || (receives && call.recv == nullptr)) {
        return fail(HCCL_E_PTR, "%s: null buffer", call.name);
    }
    if (call.layout == nullptr && call.count > largestCount) {
        return fail(HCCL_E_PARA, "%s: count %llu", call.name, static_cast<unsigned long long>(call.count));
    }
    if (hasRoot(call.kind) && call.root >= static_cast<uint32_t>(ranks.size)) {
        return fail(HCCL_E_PARA, "%s: no rank %u", call.name, call.root);
    }
    bool toAll = call.kind == Kind::AllToAll || call.kind == Kind::AllToAllV;
    bool uneven = call.kind == Kind::AllGatherV || call.kind == Kind::ReduceScatterV;
    if ((toAll || uneven) && sends && receives && call.send == call.recv) {
        return fail(HCCL_E_PARA, "%s: send and receive buffer are the same", call.name);
    }
    if (supports(call.name, static_cast<size_t>(ranks.size)) == Support::Refused) {
        return fail(HCCL_E_NOT_SUPPORT, "%s: this chip has it not for %d ranks", call.name, ranks.size);
    }
    HcclResult checked = checkType(call);
    if (checked == HCCL_SUCCESS && sends) checked = checkBuffer(call, ranks, call.send);
    if (checked == HCCL_SUCCESS && receives) checked = checkBuffer(call, ranks, call.recv);
    return checked == HCCL_SUCCESS ? findStream(call, ranks, stream) : checked;
}

size_t ranksOf(const std::shared_ptr<Comm>& comm) { return static_cast<size_t>(comm->ranks->size); }

/** Destroying answers AGAIN meanwhile. */
class Issuing {
public:
    explicit Issuing(Comm& comm) : comm_(comm) { comm_.issuing.fetch_add(1); }
    ~Issuing() { comm_.issuing.fetch_sub(1); }

private:
    Comm& comm_;
};

HcclResult injectInto(const Call& call, Fault* fault) {
    Injection injection = inject();
    *fault = injection.fault;
    if (injection.code == 0) return HCCL_SUCCESS;
    return fail(static_cast<HcclResult>(injection.code), "%s: injected by MOCK_HCCL_FAIL_AT", call.name);
}

/** A non-root's receive buffer of a reduction may be written: that is noticed here. */
HcclResult issueOn(const std::shared_ptr<Comm>& comm, const Call& call) {
    noteCall(call.name);
    Stream* stream = nullptr;
    HcclResult checked = check(call, *comm, &stream);
    if (checked != HCCL_SUCCESS) return checked;
    Fault fault = Fault::None;
    HcclResult injected = injectInto(call, &fault);
    if (injected != HCCL_SUCCESS) return injected;
    HcclResult made = makeBuffers(*comm);
    if (made != HCCL_SUCCESS) return made;
    Operation operation{};
    operation.kind = call.kind;
    operation.send = call.send;
    operation.receive = call.recv;
    operation.count = call.count;
    toDataType(call.type, &operation.type);
    if (isReducing(call.kind)) operation.reduction.op = static_cast<ReduceOp>(call.op);
    operation.root = static_cast<int>(call.root);
    operation.fault = fault;
    operation.layout = call.layout;
    Issuing issuing(*comm);
    return translate(Group::current().add(Launch{comm->ranks, stream, operation}), call.name);
}

HcclResult issue(const Call& call) {
    if (call.count == 0 && call.layout == nullptr) return HCCL_SUCCESS;
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call.name, call.comm, &comm);
    return entered != HCCL_SUCCESS ? entered : issueOn(comm, call);
}

std::vector<size_t> readNumbers(const void* numbers, size_t count) {
    std::vector<uint64_t> values(count);
    std::memcpy(values.data(), numbers, count * sizeof(uint64_t));
    return {values.begin(), values.end()};
}

/** What all ranks have to pass alike, as one number. */
uint64_t digest(const std::vector<size_t>& numbers) {
    uint64_t value = 0xcbf29ce484222325ull;
    for (size_t number : numbers) value = (value ^ number) * 0x100000001b3ull + 1;
    return value;
}

std::vector<size_t> packed(const std::vector<size_t>& counts) {
    std::vector<size_t> offsets;
    size_t next = 0;
    for (size_t count : counts) {
        offsets.push_back(next);
        next += count;
    }
    return offsets;
}

bool isEmpty(const std::vector<size_t>& counts) {
    return std::all_of(counts.begin(), counts.end(), [](size_t count) { return count == 0; });
}

}  // namespace

void mock::hccl::noteCall(const char* call) {
    std::lock_guard<std::mutex> lock(names().mutex);
    names().called.insert(call);
}

MOCK_API int mockHcclSupports(const char* function, uint32_t ranks) {
    return static_cast<int>(supports(function, ranks));
}

MOCK_API size_t mockHcclCalled(char* text, size_t bytes) {
    std::lock_guard<std::mutex> lock(names().mutex);
    std::string all;
    for (const std::string& name : names().called) all += (all.empty() ? "" : " ") + name;
    names().called.clear();
    std::snprintf(text, bytes, "%s", all.c_str());
    return all.size();
}

MOCK_API HcclResult HcclAllReduce(void* send, void* recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                                  HcclComm comm, aclrtStream stream) {
    return issue({"HcclAllReduce", Kind::AllReduce, send, recv, count, type, op, 0, comm, stream});
}

MOCK_API HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
                                  aclrtStream stream) {
    return issue({"HcclBroadcast", Kind::Broadcast, buffer, buffer, count, type, 0, root, comm, stream});
}

MOCK_API HcclResult HcclReduce(void* send, void* recv, uint64_t count, HcclDataType type, HcclReduceOp op,
                               uint32_t root, HcclComm comm, aclrtStream stream) {
    return issue({"HcclReduce", Kind::Reduce, send, recv, count, type, op, root, comm, stream});
}

MOCK_API HcclResult HcclReduceScatter(void* send, void* recv, uint64_t recvCount, HcclDataType type, HcclReduceOp op,
                                      HcclComm comm, aclrtStream stream) {
    return issue({"HcclReduceScatter", Kind::ReduceScatter, send, recv, recvCount, type, op, 0, comm, stream});
}

MOCK_API HcclResult HcclAllGather(void* send, void* recv, uint64_t sendCount, HcclDataType type, HcclComm comm,
                                  aclrtStream stream) {
    return issue({"HcclAllGather", Kind::AllGather, send, recv, sendCount, type, 0, 0, comm, stream});
}

MOCK_API HcclResult HcclScatter(void* send, void* recv, uint64_t recvCount, HcclDataType type, uint32_t root,
                                HcclComm comm, aclrtStream stream) {
    return issue({"HcclScatter", Kind::Scatter, send, recv, recvCount, type, 0, root, comm, stream});
}

MOCK_API HcclResult HcclSend(void* send, uint64_t count, HcclDataType type, uint32_t destRank, HcclComm comm,
                             aclrtStream stream) {
    return issue({"HcclSend", Kind::Send, send, nullptr, count, type, 0, destRank, comm, stream});
}

MOCK_API HcclResult HcclRecv(void* recv, uint64_t count, HcclDataType type, uint32_t srcRank, HcclComm comm,
                             aclrtStream stream) {
    return issue({"HcclRecv", Kind::Receive, nullptr, recv, count, type, 0, srcRank, comm, stream});
}

MOCK_API HcclResult HcclAlltoAll(const void* send, uint64_t sendCount, HcclDataType sendType, const void* recv,
                                 uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    if (sendCount != recvCount || sendType != recvType) {
        return fail(HCCL_E_PARA, "HcclAlltoAll: counts or types of the two directions differ");
    }
    return issue(
        {"HcclAlltoAll", Kind::AllToAll, send, const_cast<void*>(recv), sendCount, sendType, 0, 0, comm, stream});
}

MOCK_API HcclResult HcclAlltoAllV(const void* send, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                                  const void* recv, const void* recvCounts, const void* rdispls, HcclDataType recvType,
                                  HcclComm handle, aclrtStream stream) {
    const char* call = "HcclAlltoAllV";
    if (sendCounts == nullptr || sdispls == nullptr || recvCounts == nullptr || rdispls == nullptr) {
        return fail(HCCL_E_PTR, "%s: null array", call);
    }
    if (sendType != recvType) return fail(HCCL_E_PARA, "%s: types of the two directions differ", call);
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered != HCCL_SUCCESS) return entered;
    size_t n = ranksOf(comm);
    auto layout = std::make_shared<Layout>(Layout{readNumbers(sendCounts, n), readNumbers(sdispls, n),
                                                  readNumbers(recvCounts, n), readNumbers(rdispls, n)});
    return issueOn(comm,
                   {call, Kind::AllToAllV, send, const_cast<void*>(recv), 0, sendType, 0, 0, handle, stream, layout});
}

MOCK_API HcclResult HcclAlltoAllVC(const void* send, const void* sendCountMatrix, HcclDataType sendType,
                                   const void* recv, HcclDataType recvType, HcclComm handle, aclrtStream stream) {
    const char* call = "HcclAlltoAllVC";
    if (sendCountMatrix == nullptr) return fail(HCCL_E_PTR, "%s: null matrix", call);
    if (sendType != recvType) return fail(HCCL_E_PARA, "%s: types of the two directions differ", call);
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered != HCCL_SUCCESS) return entered;
    size_t n = ranksOf(comm);
    auto me = static_cast<size_t>(comm->ranks->rank);
    std::vector<size_t> matrix = readNumbers(sendCountMatrix, n * n);
    Layout layout;
    for (size_t peer = 0; peer < n; ++peer) {
        layout.sendCounts.push_back(matrix[me * n + peer]);
        layout.receiveCounts.push_back(matrix[peer * n + me]);
    }
    layout.sendOffsets = packed(layout.sendCounts);
    layout.receiveOffsets = packed(layout.receiveCounts);
    return issueOn(comm, {call, Kind::AllToAllV, send, const_cast<void*>(recv), digest(matrix), sendType, 0, 0, handle,
                          stream, std::make_shared<Layout>(layout)});
}

MOCK_API HcclResult HcclAllGatherV(void* send, uint64_t sendCount, void* recv, const void* recvCounts,
                                   const void* recvDispls, HcclDataType type, HcclComm handle, aclrtStream stream) {
    const char* call = "HcclAllGatherV";
    if (recvCounts == nullptr || recvDispls == nullptr) return fail(HCCL_E_PTR, "%s: null array", call);
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered != HCCL_SUCCESS) return entered;
    size_t n = ranksOf(comm);
    Layout layout{{sendCount}, {0}, readNumbers(recvCounts, n), readNumbers(recvDispls, n)};
    if (isEmpty(layout.receiveCounts)) return HCCL_SUCCESS;
    if (layout.receiveCounts[static_cast<size_t>(comm->ranks->rank)] != sendCount) {
        return fail(HCCL_E_PARA, "%s: sendCount is not this rank's recvCounts entry", call);
    }
    uint64_t agreed = digest(layout.receiveCounts) ^ digest(layout.receiveOffsets) * 3;
    return issueOn(comm, {call, Kind::AllGatherV, send, recv, agreed, type, 0, 0, handle, stream,
                          std::make_shared<Layout>(layout)});
}

MOCK_API HcclResult HcclReduceScatterV(void* send, const void* sendCounts, const void* sendDispls, void* recv,
                                       uint64_t recvCount, HcclDataType type, HcclReduceOp op, HcclComm handle,
                                       aclrtStream stream) {
    const char* call = "HcclReduceScatterV";
    if (sendCounts == nullptr || sendDispls == nullptr) return fail(HCCL_E_PTR, "%s: null array", call);
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered != HCCL_SUCCESS) return entered;
    size_t n = ranksOf(comm);
    Layout layout{readNumbers(sendCounts, n), readNumbers(sendDispls, n), {recvCount}, {0}};
    if (isEmpty(layout.sendCounts)) return HCCL_SUCCESS;
    if (layout.sendCounts[static_cast<size_t>(comm->ranks->rank)] != recvCount) {
        return fail(HCCL_E_PARA, "%s: recvCount is not this rank's sendCounts entry", call);
    }
    uint64_t agreed = digest(layout.sendCounts) ^ digest(layout.sendOffsets) * 3;
    return issueOn(comm, {call, Kind::ReduceScatterV, send, recv, agreed, type, op, 0, handle, stream,
                          std::make_shared<Layout>(layout)});
}

MOCK_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t itemNum, HcclComm handle, aclrtStream stream) {
    const char* call = "HcclBatchSendRecv";
    if (itemNum == 0) return HCCL_SUCCESS;
    if (items == nullptr) return fail(HCCL_E_PTR, "%s: null items", call);
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered != HCCL_SUCCESS) return entered;
    Stream* ignored = nullptr;
    std::vector<Call> calls;
    for (uint32_t i = 0; i < itemNum; ++i) {
        const HcclSendRecvItem& item = items[i];
        if (item.buf == nullptr || item.count == 0) continue;
        int direction = item.sendRecvType;
        if (direction != HCCL_SEND && direction != HCCL_RECV)
            return fail(HCCL_E_PARA, "%s: item %u has no direction", call, i);
        bool sends = direction == HCCL_SEND;
        calls.push_back({call, sends ? Kind::Send : Kind::Receive, sends ? item.buf : nullptr,
                         sends ? nullptr : item.buf, item.count, item.dataType, 0, item.remoteRank, handle, stream});
        HcclResult checked = check(calls.back(), *comm, &ignored);
        if (checked != HCCL_SUCCESS) return checked;
    }
    // Checked as a whole first, so that nothing of a wrong list runs.
    Group::current().start();
    HcclResult result = HCCL_SUCCESS;
    for (const Call& each : calls) {
        if (result == HCCL_SUCCESS) result = issueOn(comm, each);
    }
    Group::current().leave();
    if (result != HCCL_SUCCESS) {
        Group::current().discard();
        return result;
    }
    Issuing issuing(*comm);
    return translate(Group::current().flush(), call);
}
