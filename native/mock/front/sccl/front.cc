// SCCL is a thin layer: a communicator is a note of who is who, and every collective goes on to tpuDNN with it.
#include <cstring>
#include <mutex>
#include <set>

#include "../tpudnn/functions.h"
#include "../tpudnn/link.h"
#include "functions.h"

using mock::fatal;
using mock::Kind;

namespace {

constexpr int mostRanks = 16;

struct Comm {
    int rank;
    int nRanks;
    int chipMap[mostRanks];
    char id[SCCL_UNIQUE_ID_BYTES];
};
static_assert(sizeof(Comm) == 200, "as large as the real one");

struct Live {
    std::mutex mutex;
    std::set<const void*> comms;
};

Live& live() {
    static auto* one = new Live();
    return *one;
}

const Comm& find(const char* call, scclComm_t handle) {
    std::lock_guard<std::mutex> lock(live().mutex);
    if (live().comms.count(handle) == 0) fatal("%s: %p is no live communicator", call, static_cast<void*>(handle));
    return *reinterpret_cast<Comm*>(handle);
}

/** What the real library does not know it answers with a C++ exception that nobody can catch. */
void checkNumbers(const char* call, int type, int reduce) {
    if (type < SCCL_DTYPE_FP32 || type > SCCL_DTYPE_BOOL) fatal("%s: SCCL has no data type %d", call, type);
    if (reduce < SCCL_REDUCE_SUM || reduce > SCCL_REDUCE_PROD) fatal("%s: SCCL has no reduction %d", call, reduce);
}

/** Codes that a test injects pass as they are. */
scclResult_t issue(const char* call, Kind kind, const void* send, const void* recv, uint64_t count,
                   scclDataType_t type, int reduce, int root, scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find(call, comm);
    checkNumbers(call, type, reduce);
    return static_cast<scclResult_t>(mockTpudnnIssue(
        handle, {call, kind, send, recv, count, type, reduce, root, c.id, c.nRanks, c.rank, c.chipMap}));
}

}  // namespace

MOCK_API void* scclPhysToVirt(scclHandle_t handle, uint64_t address) { return mockTpudnnTranslate(handle, address); }

MOCK_API scclResult_t scclSetupC2CTopology() { return static_cast<scclResult_t>(mockTpudnnSetupTopology()); }

MOCK_API scclHandle_t scclCreateHandle(int deviceID) { return mockTpudnnCreate(deviceID); }

MOCK_API void scclDestoryHandle(scclHandle_t handle) { mockTpudnnDestroy(handle); }

MOCK_API scclResult_t scclGetUniqueId(scclHandle_t handle, scclUniqueId* id) {
    return static_cast<scclResult_t>(tpudnnGetUniqueId(handle, id == nullptr ? nullptr : id->internal));
}

MOCK_API scclResult_t scclCommInitRank(scclComm_t* comm, int nRanks, scclUniqueId id, int rank, const int* chipMap) {
    // One rank too many is taken, as in the real library; the first collective finds it.
    if (nRanks <= 0 || rank < 0 || rank > nRanks) return scclInvalidArgument;
    if (nRanks > mostRanks) fatal("scclCommInitRank: %d ranks overflow an array of %d", nRanks, mostRanks);
    if (comm == nullptr) fatal("scclCommInitRank: null result");
    auto* made = new Comm{};
    made->rank = rank;
    made->nRanks = nRanks;
    for (int i = 0; i < nRanks; ++i) made->chipMap[i] = chipMap == nullptr ? i : chipMap[i];
    std::memcpy(made->id, id.internal, sizeof made->id);
    std::lock_guard<std::mutex> lock(live().mutex);
    live().comms.insert(made);
    *comm = reinterpret_cast<scclComm_t>(made);
    return scclSuccess;
}

MOCK_API scclResult_t scclCommDestroy(scclComm_t comm) {
    if (comm == nullptr) return scclSuccess;
    const Comm& found = find("scclCommDestroy", comm);
    if (found.rank >= found.nRanks) return scclInvalidArgument;
    {
        std::lock_guard<std::mutex> lock(live().mutex);
        live().comms.erase(comm);
    }
    delete &found;
    return scclSuccess;
}

MOCK_API scclResult_t scclSend(const void* buff, uint64_t count, scclDataType_t type, int dstRank, scclComm_t comm,
                               scclHandle_t handle) {
    return issue("scclSend", Kind::Send, buff, nullptr, count, type, SCCL_REDUCE_SUM, dstRank, comm, handle);
}

MOCK_API scclResult_t scclRecv(const void* buff, uint64_t count, scclDataType_t type, int srcRank, scclComm_t comm,
                               scclHandle_t handle) {
    return issue("scclRecv", Kind::Receive, nullptr, buff, count, type, SCCL_REDUCE_SUM, srcRank, comm, handle);
}

MOCK_API scclResult_t scclAllGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type,
                                    scclComm_t comm, scclHandle_t handle) {
    return issue("scclAllGather", Kind::AllGather, send, recv, sendCount, type, SCCL_REDUCE_SUM, 0, comm, handle);
}

MOCK_API scclResult_t scclBroadcast(void* buff, uint64_t count, scclDataType_t type, int root, scclComm_t comm,
                                    scclHandle_t handle) {
    return issue("scclBroadcast", Kind::Broadcast, buff, buff, count, type, SCCL_REDUCE_SUM, root, comm, handle);
}

MOCK_API scclResult_t scclAllReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                    scclReduceType_t reduceType, scclComm_t comm, scclHandle_t handle) {
    return issue("scclAllReduce", Kind::AllReduce, send, recv, count, type, reduceType, 0, comm, handle);
}

MOCK_API scclResult_t scclReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                 scclReduceType_t reduceType, int root, scclComm_t comm, scclHandle_t handle) {
    return issue("scclReduce", Kind::Reduce, send, recv, count, type, reduceType, root, comm, handle);
}

MOCK_API scclResult_t scclGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type, int root,
                                 scclComm_t comm, scclHandle_t handle) {
    return issue("scclGather", Kind::Gather, send, recv, sendCount, type, SCCL_REDUCE_SUM, root, comm, handle);
}

MOCK_API scclResult_t scclScatter(const void* send, void* recv, uint64_t recvCount, scclDataType_t type, int root,
                                  scclComm_t comm, scclHandle_t handle) {
    return issue("scclScatter", Kind::Scatter, send, recv, recvCount, type, SCCL_REDUCE_SUM, root, comm, handle);
}

MOCK_API scclResult_t scclAllToAll(const void* send, void* recv, uint64_t recvCount, scclDataType_t type,
                                   scclComm_t comm, scclHandle_t handle) {
    auto ranks = static_cast<uint64_t>(find("scclAllToAll", comm).nRanks);
    // The count is of the whole buffer; the engine counts what goes to one rank.
    if (recvCount == 0 || recvCount % ranks != 0) {
        fatal("scclAllToAll: %llu elements cannot be divided among %llu ranks",
              static_cast<unsigned long long>(recvCount), static_cast<unsigned long long>(ranks));
    }
    return issue("scclAllToAll", Kind::AllToAll, send, recv, recvCount / ranks, type, SCCL_REDUCE_SUM, 0, comm, handle);
}
