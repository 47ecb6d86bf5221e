// Every collective, type and operation, on ranks as processes and as threads.
#include <cmath>
#include <cstring>
#include <thread>

#include "harness.h"

namespace {

/** A rank with its device, stream and communicator. */
struct Rank {
    int rank;
    int size;
    ncclComm_t comm;
    cudaStream_t stream;
};

double input(int rank, size_t i) { return (rank + 1) + static_cast<double>(i % 3); }

double expected(int op, int size, size_t i) {
    double value = input(0, i);
    for (int r = 1; r < size; ++r) {
        double next = input(r, i);
        if (op == ncclProd) value *= next;
        if (op == ncclMax) value = std::max(value, next);
        if (op == ncclMin) value = std::min(value, next);
        if (op == ncclSum || op == ncclAvg) value += next;
    }
    return op == ncclAvg ? value / size : value;
}

template <class T>
void reductions(const Rank& r, ncclDataType_t type) {
    for (size_t count : {size_t(1), size_t(5), size_t(70000)}) {
        for (int op = ncclSum; op <= ncclAvg; ++op) {
            std::vector<T> values(count);
            for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(input(r.rank, i));
            T* x = onDevice<T>(values);
            T* y = onDevice<T>(count);
            // Products of four ranks would not fit into a byte for every value: count 5 and 1 do.
            if (op == ncclProd && sizeof(T) == 1 && r.size > 3) continue;
            OK(ncclAllReduce(x, y, count, type, static_cast<ncclRedOp_t>(op), r.comm, r.stream));
            std::vector<T> result = fetch(y, count, r.stream);
            for (size_t i = 0; i < count; ++i)
                CHECK(std::fabs(static_cast<double>(result[i]) -
                                static_cast<double>(static_cast<T>(expected(op, r.size, i)))) < 1e-4);
            int root = r.size - 1;
            OK(ncclReduce(x, x, count, type, static_cast<ncclRedOp_t>(op), root, r.comm, r.stream));
            result = fetch(x, count, r.stream);
            for (size_t i = 0; i < count; ++i) {
                double want =
                    r.rank == root ? static_cast<double>(static_cast<T>(expected(op, r.size, i))) : input(r.rank, i);
                CHECK(std::fabs(static_cast<double>(result[i]) - want) < 1e-4);
            }
            OK(cudaFree(x));
            OK(cudaFree(y));
        }
    }
}

/** Small whole numbers are exact in every narrow type: 1, 2, 3 as bits. */
void narrow(const Rank& r, ncclDataType_t type, size_t width, uint16_t one, uint16_t two, uint16_t three,
            uint16_t four) {
    uint16_t mine = r.rank == 0 ? two : one;
    uint16_t sums[] = {0, two, three, four};
    std::vector<char> bytes(8 * width);
    for (size_t i = 0; i < 8; ++i) std::memcpy(bytes.data() + i * width, &mine, width);
    char* x = onDevice<char>(bytes);
    OK(ncclAllReduce(x, x, 8, type, ncclSum, r.comm, r.stream));
    std::vector<char> result = fetch(x, bytes.size(), r.stream);
    uint16_t got = 0;
    std::memcpy(&got, result.data() + 7 * width, width);
    if (r.size <= 3) CHECK(got == sums[r.size]);
    OK(cudaFree(x));
}

void movements(const Rank& r) {
    constexpr size_t count = 30000;
    auto ranks = static_cast<size_t>(r.size);
    auto me = static_cast<size_t>(r.rank);
    auto value = [](size_t from, size_t to, size_t i) { return static_cast<int>(from * 1000000 + to * 100000 + i); };
    std::vector<int> mine(count), parts(count * ranks);
    for (size_t i = 0; i < count; ++i) mine[i] = value(me, 0, i);
    for (size_t to = 0; to < ranks; ++to) {
        for (size_t i = 0; i < count; ++i) parts[to * count + i] = value(me, to, i);
    }
    int* x = onDevice<int>(mine);
    int* all = onDevice<int>(parts);
    int* y = onDevice<int>(count * ranks);
    OK(ncclAllGather(x, y, count, ncclInt32, r.comm, r.stream));
    std::vector<int> result = fetch(y, count * ranks, r.stream);
    for (size_t from = 0; from < ranks; ++from) CHECK(result[from * count + 17] == value(from, 0, 17));

    OK(ncclAlltoAll(all, y, count, ncclInt32, r.comm, r.stream));
    result = fetch(y, count * ranks, r.stream);
    for (size_t from = 0; from < ranks; ++from) CHECK(result[from * count + count - 1] == value(from, me, count - 1));

    for (int root = 0; root < r.size; ++root) {
        auto source = static_cast<size_t>(root);
        OK(ncclBroadcast(x, y, count, ncclInt32, root, r.comm, r.stream));
        CHECK(fetch(y, count, r.stream)[5] == value(source, 0, 5));
        OK(ncclScatter(all, y, count, ncclInt32, root, r.comm, r.stream));
        CHECK(fetch(y, count, r.stream)[6] == value(source, me, 6));
        OK(cudaMemsetAsync(y, 0, count * ranks * sizeof(int), r.stream));
        OK(ncclGather(x, y, count, ncclInt32, root, r.comm, r.stream));
        result = fetch(y, count * ranks, r.stream);
        for (size_t from = 0; from < ranks; ++from)
            CHECK(result[from * count + 7] == (r.rank == root ? value(from, 0, 7) : 0));
    }

    OK(ncclReduceScatter(all, y, count, ncclInt32, ncclSum, r.comm, r.stream));
    int sum = 0;
    for (size_t from = 0; from < ranks; ++from) sum += value(from, me, 9);
    CHECK(fetch(y, count, r.stream)[9] == sum);

    // In place, and a ring of messages with one to itself, all in one group.
    OK(cudaMemcpyAsync(y + me * count, x, count * sizeof(int), cudaMemcpyDeviceToDevice, r.stream));
    OK(ncclAllGather(y + me * count, y, count, ncclInt32, r.comm, r.stream));
    int* ring = onDevice<int>(count);
    int* self = onDevice<int>(count);
    OK(ncclGroupStart());
    OK(ncclSend(x, count, ncclInt32, (r.rank + 1) % r.size, r.comm, r.stream));
    OK(ncclRecv(ring, count, ncclInt32, (r.rank + r.size - 1) % r.size, r.comm, r.stream));
    if (r.size > 1) {
        OK(ncclSend(x, count, ncclInt32, r.rank, r.comm, r.stream));
        OK(ncclRecv(self, count, ncclInt32, r.rank, r.comm, r.stream));
        OK(ncclAllReduce(x, x, count, ncclInt32, ncclSum, r.comm, r.stream));
    }
    OK(ncclGroupEnd());
    result = fetch(y, count * ranks, r.stream);
    for (size_t from = 0; from < ranks; ++from) CHECK(result[from * count + 17] == value(from, 0, 17));
    fetch(ring, count, r.stream);
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(all));
    OK(cudaFree(ring));
    OK(cudaFree(self));
}

void preMultiplied(const Rank& r) {
    float factor = static_cast<float>(r.rank) + 0.5f;
    float* deviceFactor = onDevice<float>(std::vector<float>{factor});
    float* x = onDevice<float>(std::vector<float>(100, 2.0f));
    float want = 0;
    for (int i = 0; i < r.size; ++i) want += 2.0f * (static_cast<float>(i) + 0.5f);
    for (bool device : {false, true}) {
        float* y = onDevice<float>(100);
        ncclRedOp_t op;
        OK(ncclRedOpCreatePreMulSum(&op, device ? deviceFactor : &factor, ncclFloat32,
                                    device ? ncclScalarDevice : ncclScalarHostImmediate, r.comm));
        CHECK(op >= ncclNumOps);
        EXPECT(ncclInvalidArgument, ncclAllReduce(x, y, 100, ncclInt32, op, r.comm, r.stream));
        OK(ncclAllReduce(x, y, 100, ncclFloat32, op, r.comm, r.stream));
        OK(ncclRedOpDestroy(op, r.comm));
        EXPECT(ncclInvalidArgument, ncclRedOpDestroy(op, r.comm));
        EXPECT(ncclInvalidArgument, ncclAllReduce(x, y, 100, ncclFloat32, op, r.comm, r.stream));
        CHECK(fetch(y, 100, r.stream)[99] == want);
        OK(cudaFree(y));
    }
    EXPECT(ncclInvalidArgument, ncclRedOpDestroy(ncclSum, r.comm));
    OK(cudaFree(x));
    OK(cudaFree(deviceFactor));
}

void everything(const Rank& r) {
    reductions<float>(r, ncclFloat32);
    reductions<int64_t>(r, ncclInt64);
    reductions<uint8_t>(r, ncclUint8);
    reductions<int8_t>(r, ncclInt8);
    reductions<double>(r, ncclFloat64);
    narrow(r, ncclFloat16, 2, 0x3c00, 0x4000, 0x4200, 0x4400);
    narrow(r, ncclBfloat16, 2, 0x3f80, 0x4000, 0x4040, 0x4080);
    narrow(r, ncclFloat8e4m3, 1, 0x38, 0x40, 0x44, 0x48);
    narrow(r, ncclFloat8e5m2, 1, 0x3c, 0x40, 0x42, 0x44);
    movements(r);
    preMultiplied(r);
    OK(cudaStreamSynchronize(r.stream));
}

void process(const Context& context) {
    OK(cudaSetDevice(context.rank));
    Rank r{context.rank, context.size, nullptr, newStream()};
    OK(ncclCommInitRank(&r.comm, r.size, context.id, r.rank));
    everything(r);
    OK(ncclCommFinalize(r.comm));
    OK(ncclCommDestroy(r.comm));
}

void threads(const Context&) {
    ncclComm_t comms[4];
    OK(ncclCommInitAll(comms, 4, nullptr));
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&, rank] {
            OK(cudaSetDevice(rank));
            Rank r{rank, 4, comms[rank], newStream()};
            everything(r);
            OK(ncclCommDestroy(r.comm));
        });
    }
    for (std::thread& thread : ranks) thread.join();
}

void oneThreadManyDevices(const Context&) {
    ncclComm_t comms[4];
    cudaStream_t streams[4];
    float* data[4];
    OK(ncclCommInitAll(comms, 4, nullptr));
    for (int i = 0; i < 4; ++i) {
        OK(cudaSetDevice(i));
        streams[i] = newStream();
        data[i] = onDevice<float>(std::vector<float>(64, static_cast<float>(i)));
    }
    OK(ncclGroupStart());
    for (int i = 0; i < 4; ++i) OK(ncclAllReduce(data[i], data[i], 64, ncclFloat32, ncclSum, comms[i], streams[i]));
    OK(ncclGroupEnd());
    for (int i = 0; i < 4; ++i) CHECK(fetch(data[i], 64, streams[i])[63] == 6.0f);
}

/** The order of one communicator holds over streams, and delays do not change results. */
void manyStreams(const Context& context) {
    OK(cudaSetDevice(context.rank));
    ncclComm_t comm;
    OK(ncclCommInitRank(&comm, context.size, context.id, context.rank));
    cudaStream_t streams[] = {newStream(), newStream(), newStream()};
    float* data[3];
    for (int i = 0; i < 3; ++i) data[i] = onDevice<float>(std::vector<float>(1000, static_cast<float>(i + 1)));
    for (int round = 0; round < 20; ++round) {
        int i = round % 3;
        OK(ncclAllReduce(data[i], data[i], 1000, ncclFloat32, ncclAvg, comm, streams[i]));
    }
    for (int i = 0; i < 3; ++i) CHECK(fetch(data[i], 1000, streams[i])[999] == static_cast<float>(i + 1));
    OK(ncclCommDestroy(comm));
}

}  // namespace

void addCollectiveCases(std::vector<Case>& cases) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
        cases.push_back({"collectives, processes: " + std::to_string(ranks), ranks, {"MOCK_DELAY_US=20"}, process});
    }
    cases.push_back({"collectives, threads: 4", 1, {}, threads});
    cases.push_back({"one thread, many devices", 1, {}, oneThreadManyDevices});
    cases.push_back({"many streams", 4, {"MOCK_DELAY_US=300"}, manyStreams});
}
