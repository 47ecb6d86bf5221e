// SCCL is a thin layer: a communicator is a note of who is who, and every collective goes on to tpuDNN with it.
#include <cstring>
#include <mutex>
#include <set>

#include "../tpudnn/functions.h"
#include "functions.h"

using mock::fatal;

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

/** tpuDNN has a type between, so that its bool has another number. */
int typeOf(scclDataType_t type) { return type == SCCL_DTYPE_BOOL ? 16 : static_cast<int>(type); }

/** Whatever tpuDNN answers but success is a kernel error here. */
scclResult_t resultOf(int code) { return code == 0 ? scclSuccess : scclKernelError; }

/** The buffers that are only read are not const there. */
void* writable(const void* buffer) { return const_cast<void*>(buffer); }

}  // namespace

MOCK_API void* scclPhysToVirt(scclHandle_t handle, uint64_t address) { return tpudnnPhysToVirt(handle, address); }

MOCK_API scclResult_t scclSetupC2CTopology() { return static_cast<scclResult_t>(tpudnnSetupC2CTopology()); }

MOCK_API scclHandle_t scclCreateHandle(int deviceID) { return tpudnnCreate(deviceID); }

MOCK_API void scclDestoryHandle(scclHandle_t handle) { tpudnnDestroy(handle); }

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
    {
        std::lock_guard<std::mutex> lock(live().mutex);
        live().comms.erase(comm);
    }
    delete &found;
    return scclSuccess;
}

MOCK_API scclResult_t scclSend(const void* buff, uint64_t count, scclDataType_t type, int dstRank, scclComm_t comm,
                               scclHandle_t handle) {
    const Comm& c = find("scclSend", comm);
    checkNumbers("scclSend", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CSend(handle, writable(buff), count, typeOf(type), dstRank, c.id, c.nRanks, c.rank,
                                  c.chipMap));
}

MOCK_API scclResult_t scclRecv(const void* buff, uint64_t count, scclDataType_t type, int srcRank, scclComm_t comm,
                               scclHandle_t handle) {
    const Comm& c = find("scclRecv", comm);
    checkNumbers("scclRecv", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CRecv(handle, writable(buff), count, typeOf(type), srcRank, c.id, c.nRanks, c.rank,
                                  c.chipMap));
}

MOCK_API scclResult_t scclAllGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type,
                                    scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllGather", comm);
    checkNumbers("scclAllGather", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CAllGather(handle, writable(send), sendCount, recv, sendCount, c.id, typeOf(type),
                                       c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclBroadcast(void* buff, uint64_t count, scclDataType_t type, int root, scclComm_t comm,
                                    scclHandle_t handle) {
    const Comm& c = find("scclBroadcast", comm);
    checkNumbers("scclBroadcast", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CBroadcast(handle, buff, count, typeOf(type), root, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclAllReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                    scclReduceType_t reduceType, scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllReduce", comm);
    checkNumbers("scclAllReduce", type, reduceType);
    return resultOf(tpudnnC2CAllReduce(handle, writable(send), recv, count, typeOf(type), reduceType, c.id, c.nRanks,
                                       c.rank, c.chipMap));
}

MOCK_API scclResult_t scclReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                 scclReduceType_t reduceType, int root, scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclReduce", comm);
    checkNumbers("scclReduce", type, reduceType);
    return resultOf(tpudnnC2CReduce(handle, writable(send), recv, count, typeOf(type), reduceType, root, c.id,
                                    c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type, int root,
                                 scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclGather", comm);
    checkNumbers("scclGather", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CGather(handle, writable(send), sendCount, recv,
                                    sendCount * static_cast<uint64_t>(c.nRanks), typeOf(type), root, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclScatter(const void* send, void* recv, uint64_t recvCount, scclDataType_t type, int root,
                                  scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclScatter", comm);
    checkNumbers("scclScatter", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CScatter(handle, writable(send), typeOf(type), recv, recvCount, typeOf(type), root, c.id,
                                     c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclAllToAll(const void* send, void* recv, uint64_t recvCount, scclDataType_t type,
                                   scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllToAll", comm);
    checkNumbers("scclAllToAll", type, SCCL_REDUCE_SUM);
    return resultOf(tpudnnC2CAllToAll(handle, writable(send), typeOf(type), recv, recvCount, typeOf(type), c.id,
                                      c.nRanks, c.rank, c.chipMap));
}
