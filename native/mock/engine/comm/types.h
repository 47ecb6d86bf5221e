// Words of the communicator engine; each vendor front maps its numbers to these.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mock {

enum class Result : int {
    Ok,
    Runtime,
    System,
    Internal,
    InvalidArgument,
    InvalidUsage,
    Remote,
    InProgress,
    Timeout,
};

enum class DataType : int {
    Int8,
    Uint8,
    Int32,
    Uint32,
    Int64,
    Uint64,
    Float16,
    Float32,
    Float64,
    Bfloat16,
    Float8e4m3,
    Float8e5m2,
    Int16,
    Uint16,
};

size_t sizeOf(DataType type);
inline bool isFloat8(DataType type) { return type == DataType::Float8e4m3 || type == DataType::Float8e5m2; }

enum class ReduceOp : int { Sum, Prod, Max, Min, Avg };

/** Sum of inputs that each rank multiplies by its own scalar first, when `scaled`. */
struct Reduction {
    ReduceOp op = ReduceOp::Sum;
    bool scaled = false;
    /** The scalar's bytes, or its device address when it is read at run time. */
    char scalar[8] = {};
    const void* scalarAddress = nullptr;
};

enum class Kind : int {
    AllReduce,
    Reduce,
    ReduceScatter,
    ReduceScatterV,
    AllGather,
    AllGatherV,
    Broadcast,
    AllToAll,
    AllToAllV,
    Gather,
    Scatter,
    Send,
    Receive,
};

const char* nameOf(Kind kind);
inline bool isPointToPoint(Kind kind) { return kind >= Kind::Send; }
inline bool isReducing(Kind kind) { return kind <= Kind::ReduceScatterV; }

/** Where each rank's part lies, in elements, for the collectives whose parts differ. */
struct Layout {
    std::vector<size_t> sendCounts;
    std::vector<size_t> sendOffsets;
    std::vector<size_t> receiveCounts;
    std::vector<size_t> receiveOffsets;
};

enum class Fault : int { None, Hang, AsyncError };

struct Operation {
    Kind kind;
    const void* send;
    void* receive;
    /** As the vendor counts: per rank where the collective's result or input has one part for each rank. With a
        layout, what ranks have to agree on. */
    size_t count;
    DataType type;
    Reduction reduction;
    /** Root, or peer of a point-to-point operation. */
    int root;
    Fault fault;
    std::shared_ptr<const Layout> layout = nullptr;
};

}  // namespace mock
