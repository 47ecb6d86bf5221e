// SCCL is a thin layer: a communicator is a note of who is who, and every collective goes on to tpuDNN with it.
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include "../../engine/base.h"
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

/** The real library throws a C++ exception through its C interface; MOCK_SCCL_REFUSAL chooses. */
[[noreturn]] void refuse(const std::string& why) {
    const char* mode = std::getenv("MOCK_SCCL_REFUSAL");
    if (mode != nullptr && std::strcmp(mode, "throw") == 0) throw std::runtime_error(why);
    fatal("%s (the real library throws an exception that nobody can catch)", why.c_str());
}

bool answersRefusals() {
    const char* mode = std::getenv("MOCK_SCCL_REFUSAL");
    return mode != nullptr && std::strcmp(mode, "error") == 0;
}

bool knowsType(int type) { return type >= SCCL_DTYPE_FP32 && type <= SCCL_DTYPE_BOOL; }
bool knowsReduction(int reduce) { return reduce >= SCCL_REDUCE_SUM && reduce <= SCCL_REDUCE_PROD; }

tpudnnDataType_t translate(scclDataType_t type) {
    if (!knowsType(type)) refuse("SCCL: data type " + std::to_string(static_cast<int>(type)));
    return type == SCCL_DTYPE_BOOL ? TPUDNN_DTYPE_BOOL : static_cast<tpudnnDataType_t>(static_cast<int>(type));
}

tpudnnReduceType_t translate(scclReduceType_t reduce) {
    if (!knowsReduction(reduce)) refuse("SCCL: reduction " + std::to_string(static_cast<int>(reduce)));
    return static_cast<tpudnnReduceType_t>(static_cast<int>(reduce));
}

bool isRefused(scclDataType_t type) { return !knowsType(type) && answersRefusals(); }
bool isRefused(scclReduceType_t reduce) { return !knowsReduction(reduce) && answersRefusals(); }

/** Injected codes other than 1 pass as they are. */
scclResult_t result(tpudnnStatus_t status) { return static_cast<scclResult_t>(static_cast<int>(status)); }

void* plain(const void* address) { return const_cast<void*>(address); }

}  // namespace

MOCK_API void* scclPhysToVirt(scclHandle_t handle, uint64_t address) { return tpudnnPhysToVirt(handle, address); }

MOCK_API scclResult_t scclSetupC2CTopology() { return result(tpudnnSetupC2CTopology()); }

MOCK_API scclHandle_t scclCreateHandle(int deviceID) { return tpudnnCreate(deviceID); }

MOCK_API void scclDestoryHandle(scclHandle_t handle) { tpudnnDestroy(handle); }

MOCK_API scclResult_t scclGetUniqueId(scclHandle_t handle, scclUniqueId* id) {
    return result(tpudnnGetUniqueId(handle, id == nullptr ? nullptr : id->internal));
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
    const Comm& c = find("scclSend", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(
        tpudnnC2CSend(handle, plain(buff), count, translate(type), dstRank, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclRecv(const void* buff, uint64_t count, scclDataType_t type, int srcRank, scclComm_t comm,
                               scclHandle_t handle) {
    const Comm& c = find("scclRecv", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(
        tpudnnC2CRecv(handle, plain(buff), count, translate(type), srcRank, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclAllGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type,
                                    scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllGather", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(tpudnnC2CAllGather(handle, plain(send), sendCount, recv, sendCount, c.id, translate(type), c.nRanks,
                                     c.rank, c.chipMap));
}

MOCK_API scclResult_t scclBroadcast(void* buff, uint64_t count, scclDataType_t type, int root, scclComm_t comm,
                                    scclHandle_t handle) {
    const Comm& c = find("scclBroadcast", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(tpudnnC2CBroadcast(handle, buff, count, translate(type), root, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclAllReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                    scclReduceType_t reduceType, scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllReduce", comm);
    if (isRefused(type) || isRefused(reduceType)) return scclInvalidArgument;
    return result(tpudnnC2CAllReduce(handle, plain(send), recv, count, translate(type), translate(reduceType), c.id,
                                     c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclReduce(const void* send, void* recv, uint64_t count, scclDataType_t type,
                                 scclReduceType_t reduceType, int root, scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclReduce", comm);
    if (isRefused(type) || isRefused(reduceType)) return scclInvalidArgument;
    return result(tpudnnC2CReduce(handle, plain(send), recv, count, translate(type), translate(reduceType), root, c.id,
                                  c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclGather(const void* send, void* recv, uint64_t sendCount, scclDataType_t type, int root,
                                 scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclGather", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(tpudnnC2CGather(handle, plain(send), sendCount, recv, sendCount * static_cast<uint64_t>(c.nRanks),
                                  translate(type), root, c.id, c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclScatter(const void* send, void* recv, uint64_t recvCount, scclDataType_t type, int root,
                                  scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclScatter", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(tpudnnC2CScatter(handle, plain(send), translate(type), recv, recvCount, translate(type), root, c.id,
                                   c.nRanks, c.rank, c.chipMap));
}

MOCK_API scclResult_t scclAllToAll(const void* send, void* recv, uint64_t recvCount, scclDataType_t type,
                                   scclComm_t comm, scclHandle_t handle) {
    const Comm& c = find("scclAllToAll", comm);
    if (isRefused(type)) return scclInvalidArgument;
    return result(tpudnnC2CAllToAll(handle, plain(send), translate(type), recv, recvCount, translate(type), c.id,
                                    c.nRanks, c.rank, c.chipMap));
}
