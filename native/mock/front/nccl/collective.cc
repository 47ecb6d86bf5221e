// Collectives, point-to-point operations and custom reductions.
#include <cstring>

#include "../../engine/comm/faults.h"
#include "front.h"

using namespace mock;
using namespace mock::nccl;

namespace {

struct Call {
    const char* name;
    Kind kind;
    const void* send;
    void* receive;
    size_t count;
    int type;
    int op;
    int root;
    ncclComm_t comm;
    cudaStream_t stream;
};

bool isType(int type) {
    constexpr int sinceFloat8 = 22400;
    return type >= 0 && type < (vendor().version < sinceFloat8 ? static_cast<int>(ncclFloat8e4m3) : static_cast<int>(ncclNumTypes));
}

bool hasRoot(Kind kind) { return kind == Kind::Reduce || kind == Kind::Broadcast || kind >= Kind::Gather; }

bool usesSend(Kind kind, bool root) {
    if (kind == Kind::Receive) return false;
    return (kind != Kind::Broadcast && kind != Kind::Scatter) || root;
}

bool usesReceive(Kind kind, bool root) {
    if (kind == Kind::Send) return false;
    return (kind != Kind::Reduce && kind != Kind::Gather) || root;
}

ncclResult_t readReduction(Communicator& communicator, const Call& call, Reduction* reduction) {
    if (!isReducing(call.kind)) return ncclSuccess;
    if (isFloat8(static_cast<DataType>(call.type)) && vendorRuntime().capability() < 90) {
        return fail(ncclInvalidArgument, "FP8 reduction support begins with sm90 capable devices.");
    }
    if (call.op < 0) return fail(ncclInvalidArgument, "invalid reduction operation");
    if (call.op < ncclNumOps) {
        reduction->op = static_cast<ReduceOp>(call.op);
        return ncclSuccess;
    }
    auto index = static_cast<size_t>(call.op - ncclNumOps);
    std::lock_guard<std::mutex> lock(communicator.opsMutex);
    if (index >= communicator.ops.size() || !communicator.ops[index].live) {
        return fail(ncclInvalidArgument, "reduction operation unknown to communicator");
    }
    if (static_cast<int>(communicator.ops[index].type) != call.type) {
        return fail(ncclInvalidArgument, "data type differs from the one the reduction operation was created with");
    }
    *reduction = communicator.ops[index].reduction;
    return ncclSuccess;
}

/** Memory of another device or of the host would be an illegal access in the kernel, much later. */
bool isReachable(const Communicator& communicator, const void* address) {
    if (address == nullptr) return false;
    return vendorRuntime().deviceOf(address) == communicator.device;
}

ncclResult_t enqueue(const Call& call) {
    auto communicator = find(call.comm);
    Visit visit(communicator);
    ncclResult_t ready = ensureReady(communicator, call.name);
    if (ready != ncclSuccess) return ready;
    if (communicator->isRevoked() || communicator->finalized)
        return fail(ncclInvalidUsage, "communicator is revoked or finalized");
    if (hasRoot(call.kind) && (call.root < 0 || call.root >= communicator->size))
        return fail(ncclInvalidArgument, "invalid root or peer");
    if (!isType(call.type)) return fail(ncclInvalidArgument, "invalid type");
    Reduction reduction;
    ncclResult_t read = readReduction(*communicator, call, &reduction);
    if (read != ncclSuccess) return read;
    Injection injection = inject();
    if (injection.code != 0) return fail(static_cast<ncclResult_t>(injection.code), "injected by MOCK_NCCL_FAIL_AT");
    if (call.count == 0) return ncclSuccess;
    bool root = call.root == communicator->rank;
    if ((usesSend(call.kind, root) && !isReachable(*communicator, call.send)) ||
        (usesReceive(call.kind, root) && !isReachable(*communicator, call.receive))) {
        return fail(ncclInvalidArgument, "buffer is not memory of the communicator's device");
    }
    Stream* stream = vendorRuntime().findStream(call.stream);
    if (stream == nullptr || stream->device != communicator->device) {
        return fail(ncclUnhandledCudaError, "Cuda failure 'invalid resource handle'");
    }
    Operation operation{call.kind, call.send, call.receive,   call.count, static_cast<DataType>(call.type),
                        reduction, call.root, injection.fault};
    return translate(Group::current().add(Launch{std::move(communicator), stream, operation}), call.name);
}

ncclResult_t issue(const Call& call) { return inGroup(enqueue(call)); }

}  // namespace

MOCK_API ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                    ncclComm_t comm, cudaStream_t stream) {
    return issue({"AllReduce", Kind::AllReduce, send, receive, count, type, op, 0, comm, stream});
}

MOCK_API ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 int root, ncclComm_t comm, cudaStream_t stream) {
    return issue({"Reduce", Kind::Reduce, send, receive, count, type, op, root, comm, stream});
}

MOCK_API ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                                        ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return issue({"ReduceScatter", Kind::ReduceScatter, send, receive, count, type, op, 0, comm, stream});
}

MOCK_API ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                                    cudaStream_t stream) {
    return issue({"AllGather", Kind::AllGather, send, receive, count, type, 0, 0, comm, stream});
}

MOCK_API ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                                    ncclComm_t comm, cudaStream_t stream) {
    return issue({"Broadcast", Kind::Broadcast, send, receive, count, type, 0, root, comm, stream});
}

MOCK_API ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                                   cudaStream_t stream) {
    return issue({"AlltoAll", Kind::AllToAll, send, receive, count, type, 0, 0, comm, stream});
}

MOCK_API ncclResult_t ncclGather(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t comm, cudaStream_t stream) {
    return issue({"Gather", Kind::Gather, send, receive, count, type, 0, root, comm, stream});
}

MOCK_API ncclResult_t ncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                                  ncclComm_t comm, cudaStream_t stream) {
    return issue({"Scatter", Kind::Scatter, send, receive, count, type, 0, root, comm, stream});
}

MOCK_API ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream) {
    return issue({"Send", Kind::Send, send, nullptr, count, type, 0, peer, comm, stream});
}

MOCK_API ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                               cudaStream_t stream) {
    return issue({"Recv", Kind::Receive, nullptr, receive, count, type, 0, peer, comm, stream});
}

MOCK_API ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                               ncclScalarResidence_t residence, ncclComm_t comm) {
    auto communicator = find(comm);
    Visit visit(communicator);
    ncclResult_t ready = ensureReady(communicator, "ncclRedOpCreatePreMulSum");
    if (ready != ncclSuccess) return ready;
    bool device = residence == ncclScalarDevice;
    if (op == nullptr || scalar == nullptr || !isType(static_cast<int>(type)) ||
        (!device && residence != ncclScalarHostImmediate)) {
        return fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum : invalid argument");
    }
    Reduction reduction;
    reduction.scaled = true;
    auto dataType = static_cast<DataType>(static_cast<int>(type));
    if (device) {
        if (!isReachable(*communicator, scalar)) return fail(ncclInvalidArgument, "scalar is not device memory");
        reduction.scalarAddress = scalar;
    } else {
        std::memcpy(reduction.scalar, scalar, sizeOf(dataType));
    }
    std::lock_guard<std::mutex> lock(communicator->opsMutex);
    // Places are not used twice, so that a destroyed operation is always noticed.
    communicator->ops.push_back({true, dataType, reduction});
    *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(communicator->ops.size()) - 1);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
    auto communicator = find(comm);
    if (communicator == nullptr) return fail(ncclInvalidArgument, "ncclRedOpDestroy : invalid comm");
    Visit visit(communicator);
    if (op >= 0 && op < ncclNumOps) return fail(ncclInvalidArgument, "ncclRedOpDestroy : operator is a NCCL builtin.");
    auto index = static_cast<size_t>(op - ncclNumOps);
    std::lock_guard<std::mutex> lock(communicator->opsMutex);
    if (op < 0 || index >= communicator->ops.size() || !communicator->ops[index].live) {
        return fail(ncclInvalidArgument, "ncclRedOpDestroy : operator unknown to communicator.");
    }
    communicator->ops[index].live = false;
    return ncclSuccess;
}
