// The operations between chips. Ranks know one another only by the id in each call, so they meet on their streams when
// the first operation under an id runs.
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "../../engine/comm/faults.h"
#include "../../engine/comm/segment.h"
#include "../sccl/types.h"
#include "front.h"
#include "uuid.h"

using namespace mock;
using namespace mock::tpudnn;

namespace {

constexpr int mostRanks = 16;

/** SCCL's number for it is 15. */
constexpr int boolType = 16;

/** An operation as it was called, with the numbers of SCCL and tpuDNN for reductions. */
struct Request {
    const char* name;
    Kind kind;
    const void* send;
    const void* recv;
    /** As the engine counts. */
    uint64_t count;
    int type;
    int reduce;
    int root;
    const char* uuid;
    int size;
    int rank;
    const int* chipMap;
};

/** What all operations under one id and rank share; lives as long as the process. */
struct Meeting {
    std::shared_ptr<Communicator> ranks;
    UniqueId id;
    std::vector<int> chips;
    std::once_flag once;

    /** Runs on a stream. */
    void meet() {
        std::call_once(once, [this] {
            Result met = ranks->initialize(id);
            if (met == Result::System) {
                // The process that made the id has ended. Nobody else will come, and nothing tells so.
                while (!ranks->isStopped()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
                return;
            }
            if (met != Result::Ok) fatal("tpuDNN: ranks of one id disagree (%d)", static_cast<int>(met));
            for (int rank = 0; rank < ranks->size; ++rank) {
                int chip = ranks->physicalDeviceOf(rank);
                if (chip == chips[static_cast<size_t>(rank)]) continue;
                fatal("tpuDNN: rank %d runs on chip %d, rank %d's chip map says %d", rank, chip, ranks->rank,
                      chips[static_cast<size_t>(rank)]);
            }
        });
    }
};

struct Meetings {
    std::mutex mutex;
    std::map<std::tuple<std::string, int, int>, std::shared_ptr<Meeting>> all;
};

Meetings& meetings() {
    static auto* one = new Meetings();
    return *one;
}

bool toDataType(int type, DataType* result) {
    switch (type) {
        case SCCL_DTYPE_FP32: *result = DataType::Float32; return true;
        case SCCL_DTYPE_FP16: *result = DataType::Float16; return true;
        case SCCL_DTYPE_BF16: *result = DataType::Bfloat16; return true;
        case SCCL_DTYPE_INT8: *result = DataType::Int8; return true;
        case SCCL_DTYPE_UINT8:
        case boolType: *result = DataType::Uint8; return true;
        case SCCL_DTYPE_INT32: *result = DataType::Int32; return true;
        case SCCL_DTYPE_INT64: *result = DataType::Int64; return true;
        default: return false;
    }
}

/** Types that are known to be reduced; for others nothing shows that it works. */
bool canReduce(DataType type) {
    return type == DataType::Float32 || type == DataType::Float16 || type == DataType::Bfloat16 ||
           type == DataType::Int32;
}

ReduceOp toReduceOp(int reduce) {
    switch (reduce) {
        case SCCL_REDUCE_SUM: return ReduceOp::Sum;
        case SCCL_REDUCE_MAX: return ReduceOp::Max;
        case SCCL_REDUCE_MIN: return ReduceOp::Min;
        case SCCL_REDUCE_PROD: return ReduceOp::Prod;
        default: fatal("tpuDNN: no reduction %d", reduce);
    }
}

/** The library checks none of this: what it would do then is anybody's guess. */
void checkGroup(const Request& call, const Handle& handle) {
    if (call.size < 2) fatal("%s: %d rank; a lone rank is not SCCL's business", call.name, call.size);
    if (call.size > mostRanks) fatal("%s: %d ranks, more than %d", call.name, call.size, mostRanks);
    if (call.rank < 0 || call.rank >= call.size) fatal("%s: rank %d of %d", call.name, call.rank, call.size);
    if (!areDistinct(call.size, call.chipMap)) {
        fatal("%s: the chip map names a chip twice, or one that is not there", call.name);
    }
    if (setting("MOCK_SCCL_RING", 0) == 1 && !isRing(call.size, call.chipMap)) {
        fatal("%s: the chip map is no ring", call.name);
    }
    if (call.chipMap[call.rank] != handle.device) {
        fatal("%s: rank %d is chip %d by the chip map, the handle is on chip %d", call.name, call.rank,
              call.chipMap[call.rank], handle.device);
    }
    bool rooted = call.kind == Kind::Broadcast || call.kind == Kind::Reduce || call.kind >= Kind::Gather;
    if (rooted && (call.root < 0 || call.root >= call.size)) fatal("%s: no rank %d", call.name, call.root);
    if (isPointToPoint(call.kind) && call.root == call.rank) fatal("%s: to or from itself", call.name);
    if (call.count == 0) fatal("%s: nothing is known of a count of 0; skip the call", call.name);
}

std::shared_ptr<Meeting> meetingOf(const Request& call, const Handle& handle) {
    UniqueId id;
    if (call.uuid == nullptr || !parseUuid(call.uuid, &id)) {
        fatal("%s: the 128 bytes are not what scclGetUniqueId wrote", call.name);
    }
    std::lock_guard<std::mutex> lock(meetings().mutex);
    auto& meeting = meetings().all[{std::string(call.uuid), call.size, call.rank}];
    std::vector<int> chips(call.chipMap, call.chipMap + call.size);
    if (meeting == nullptr) {
        meeting = std::make_shared<Meeting>();
        Settings settings;
        settings.rendezvous = true;
        meeting->ranks = std::make_shared<Communicator>(call.size, call.rank, handle.device, settings);
        meeting->id = id;
        meeting->chips = chips;
    }
    if (meeting->chips != chips) fatal("%s: another chip map than before under the same id", call.name);
    return meeting;
}

struct Sizes {
    uint64_t send;
    uint64_t recv;
};

/** How many elements each buffer has to have on this rank, whether they are used or not. */
Sizes sizes(const Request& call) {
    auto ranks = static_cast<uint64_t>(call.size);
    bool root = call.rank == call.root;
    switch (call.kind) {
        case Kind::AllGather: return {call.count, call.count * ranks};
        case Kind::Gather: return {call.count, root ? call.count * ranks : call.count};
        case Kind::Scatter: return {root ? call.count * ranks : call.count, call.count};
        case Kind::AllToAll: return {call.count * ranks, call.count * ranks};
        case Kind::Send: return {call.count, 0};
        case Kind::Receive: return {0, call.count};
        default: return {call.count, call.count};
    }
}

bool mayBeInPlace(const Request& call) {
    return call.kind == Kind::AllReduce || call.kind == Kind::Broadcast ||
           (call.kind == Kind::Reduce && call.rank == call.root);
}

bool overlap(const char* a, uint64_t aBytes, const char* b, uint64_t bBytes) {
    return a < b + bBytes && b < a + aBytes;
}

tpudnnStatus_t issue(tpudnnHandle_t handleAddress, const Request& call) {
    Handle& handle = find(call.name, handleAddress);
    tpudnnStatus_t usable = ready(call.name, handle);
    if (usable != TPUDNN_STATUS_SUCCESS) return usable;
    checkGroup(call, handle);
    DataType type;
    if (!toDataType(call.type, &type)) return fail("%s: data type %d is not moved", call.name, call.type);
    if (isReducing(call.kind) && !canReduce(type)) return fail("%s: data type %d is not reduced", call.name, call.type);
    auto meeting = meetingOf(call, handle);
    Injection injection = inject();
    if (injection.code != 0) return static_cast<tpudnnStatus_t>(injection.code);

    Operation operation{};
    operation.kind = call.kind;
    operation.count = call.count;
    operation.type = type;
    if (isReducing(call.kind)) operation.reduction.op = toReduceOp(call.reduce);
    operation.root = call.root;
    operation.fault = injection.fault;
    uint64_t width = sizeOf(type);
    Sizes elements = sizes(call);
    if (elements.send > 0) operation.send = rawOf(call.name, handle, call.send);
    if (elements.recv > 0) operation.receive = rawOf(call.name, handle, call.recv);
    if (elements.send > 0 && elements.recv > 0 && !mayBeInPlace(call) &&
        overlap(static_cast<const char*>(operation.send), elements.send * width,
                static_cast<const char*>(operation.receive), elements.recv * width)) {
        fatal("%s: the buffers overlap, of which nothing is known", call.name);
    }
    bool scratch = (call.kind == Kind::Reduce || call.kind == Kind::Gather) && call.rank != call.root;
    auto task = [meeting, operation, elements, width, scratch, name = call.name] {
        meeting->meet();
        // Buffers that this rank does not need have to be there all the same, and may be written.
        if (elements.send > 0) vendorRuntime().view(operation.send, elements.send * width, name);
        if (elements.recv > 0) {
            char* place = vendorRuntime().view(operation.receive, elements.recv * width, name);
            if (scratch) std::memset(place, 0xfd, elements.recv * width);
        }
        meeting->ranks->run({operation});
    };
    submit(handle, task, meeting->ranks->order);
    return TPUDNN_STATUS_SUCCESS;
}

}  // namespace

MOCK_API tpudnnStatus_t tpudnnGetUniqueId(tpudnnHandle_t handle, char* out) {
    tpudnnStatus_t usable = ready("tpudnnGetUniqueId", find("tpudnnGetUniqueId", handle));
    if (usable != TPUDNN_STATUS_SUCCESS) return usable;
    if (out == nullptr) return fail("tpudnnGetUniqueId: null argument");
    UniqueId id;
    if (Segment::createId(&id) != Result::Ok) return fail("tpudnnGetUniqueId: no shared memory");
    writeUuid(id, out);
    return TPUDNN_STATUS_SUCCESS;
}

MOCK_API tpudnnStatus_t tpudnnC2CSend(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int peer,
                                      const char* uuid, int nranks, int rank, const int* chipMap) {
    return issue(handle, {"tpudnnC2CSend", Kind::Send, buff, nullptr, count, type, SCCL_REDUCE_SUM, peer, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CRecv(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int peer,
                                      const char* uuid, int nranks, int rank, const int* chipMap) {
    return issue(handle, {"tpudnnC2CRecv", Kind::Receive, nullptr, buff, count, type, SCCL_REDUCE_SUM, peer, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CBroadcast(tpudnnHandle_t handle, void* buff, uint64_t count, int type, int root,
                                           const char* uuid, int nranks, int rank, const int* chipMap) {
    return issue(handle, {"tpudnnC2CBroadcast", Kind::Broadcast, buff, buff, count, type, SCCL_REDUCE_SUM, root, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CAllReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count, int type,
                                           int reduce, const char* uuid, int nranks, int rank, const int* chipMap) {
    return issue(handle, {"tpudnnC2CAllReduce", Kind::AllReduce, send, recv, count, type, reduce, 0, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CReduce(tpudnnHandle_t handle, void* send, void* recv, uint64_t count, int type,
                                        int reduce, int root, const char* uuid, int nranks, int rank,
                                        const int* chipMap) {
    return issue(handle, {"tpudnnC2CReduce", Kind::Reduce, send, recv, count, type, reduce, root, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                        uint64_t recvCount, int type, int root, const char* uuid, int nranks, int rank,
                                        const int* chipMap) {
    if (recvCount != sendCount * static_cast<uint64_t>(nranks)) fatal("tpudnnC2CGather: counts do not fit");
    return issue(handle, {"tpudnnC2CGather", Kind::Gather, send, recv, sendCount, type, SCCL_REDUCE_SUM, root, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CAllGather(tpudnnHandle_t handle, void* send, uint64_t sendCount, void* recv,
                                           uint64_t recvCount, const char* uuid, int type, int nranks, int rank,
                                           const int* chipMap) {
    // libsccl gives the number of elements of one rank twice.
    if (recvCount != sendCount) fatal("tpudnnC2CAllGather: counts do not fit");
    return issue(handle, {"tpudnnC2CAllGather", Kind::AllGather, send, recv, sendCount, type, SCCL_REDUCE_SUM, 0, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CScatter(tpudnnHandle_t handle, void* send, int sendType, void* recv,
                                         uint64_t recvCount, int recvType, int root, const char* uuid, int nranks,
                                         int rank, const int* chipMap) {
    if (sendType != recvType) fatal("tpudnnC2CScatter: types do not fit");
    return issue(handle, {"tpudnnC2CScatter", Kind::Scatter, send, recv, recvCount, recvType, SCCL_REDUCE_SUM, root, uuid, nranks, rank,
                          chipMap});
}

MOCK_API tpudnnStatus_t tpudnnC2CAllToAll(tpudnnHandle_t handle, void* send, int sendType, void* recv,
                                          uint64_t recvCount, int recvType, const char* uuid, int nranks, int rank,
                                          const int* chipMap) {
    if (sendType != recvType) fatal("tpudnnC2CAllToAll: types do not fit");
    // The count is of the whole buffer; the engine counts what goes to one rank.
    auto ranks = static_cast<uint64_t>(nranks);
    if (recvCount == 0 || recvCount % ranks != 0) {
        fatal("tpudnnC2CAllToAll: %llu elements cannot be divided among %d ranks",
              static_cast<unsigned long long>(recvCount), nranks);
    }
    return issue(handle, {"tpudnnC2CAllToAll", Kind::AllToAll, send, recv, recvCount / ranks, recvType, SCCL_REDUCE_SUM, 0, uuid, nranks, rank,
                          chipMap});
}
