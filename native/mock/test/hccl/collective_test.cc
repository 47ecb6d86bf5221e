// Every operator, on ranks as processes and as threads.
#include <cmath>

#include "harness.h"

namespace {

struct Rank {
    uint32_t rank;
    uint32_t size;
    HcclComm comm;
    aclrtStream stream;
};

double input(uint32_t rank, size_t i) { return rank + 1 + static_cast<double>(i % 3); }

double expected(int op, uint32_t size, size_t i) {
    double value = input(0, i);
    for (uint32_t r = 1; r < size; ++r) {
        double next = input(r, i);
        if (op == HCCL_REDUCE_PROD) value *= next;
        if (op == HCCL_REDUCE_MAX) value = std::max(value, next);
        if (op == HCCL_REDUCE_MIN) value = std::min(value, next);
        if (op == HCCL_REDUCE_SUM) value += next;
    }
    return value;
}

template <class T>
void reductions(const Rank& r, HcclDataType type) {
    for (size_t count : {size_t(1), size_t(5), size_t(70000)}) {
        for (int number = HCCL_REDUCE_SUM; number <= HCCL_REDUCE_MIN; ++number) {
            auto op = static_cast<HcclReduceOp>(number);
            std::vector<T> values(count);
            for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(input(r.rank, i));
            T* x = onDevice<T>(values);
            T* y = onDevice<T>(count);
            if (type == HCCL_DATA_TYPE_INT16 && op == HCCL_REDUCE_PROD) {
                EXPECT(HCCL_E_NOT_SUPPORT, HcclAllReduce(x, y, count, type, op, r.comm, r.stream));
                continue;
            }
            // Products of four ranks do not fit into a byte.
            if (sizeof(T) == 1 && op == HCCL_REDUCE_PROD) continue;
            OK(HcclAllReduce(x, y, count, type, op, r.comm, r.stream));
            std::vector<T> result = fetch(y, count, r.stream);
            for (size_t i = 0; i < count; ++i) {
                CHECK(std::fabs(static_cast<double>(result[i]) - expected(op, r.size, i)) < 1e-4);
            }
            uint32_t root = r.size - 1;
            OK(HcclReduce(x, y, count, type, op, root, r.comm, r.stream));
            CHECK(r.rank != root ||
                  std::fabs(static_cast<double>(fetch(y, count, r.stream)[0]) - expected(op, r.size, 0)) < 1e-4);
            OK(aclrtSynchronizeStream(r.stream));
            OK(aclrtFree(x));
            OK(aclrtFree(y));
        }
    }
}

int value(size_t from, size_t to, size_t i) { return static_cast<int>(from * 1000000 + to * 100000 + i); }

void movements(const Rank& r) {
    constexpr size_t count = 30000;
    constexpr HcclDataType type = HCCL_DATA_TYPE_INT32;
    std::vector<int> mine(count), parts(count * r.size);
    for (size_t i = 0; i < count; ++i) mine[i] = value(r.rank, 0, i);
    for (size_t to = 0; to < r.size; ++to) {
        for (size_t i = 0; i < count; ++i) parts[to * count + i] = value(r.rank, to, i);
    }
    int* x = onDevice<int>(mine);
    int* all = onDevice<int>(parts);
    int* y = onDevice<int>(count * r.size);
    OK(HcclAllGather(x, y, count, type, r.comm, r.stream));
    std::vector<int> result = fetch(y, count * r.size, r.stream);
    for (size_t from = 0; from < r.size; ++from) CHECK(result[from * count + 17] == value(from, 0, 17));

    OK(HcclAlltoAll(all, count, type, y, count, type, r.comm, r.stream));
    result = fetch(y, count * r.size, r.stream);
    for (size_t from = 0; from < r.size; ++from) CHECK(result[from * count + 9] == value(from, r.rank, 9));

    OK(HcclReduceScatter(all, y, count, type, HCCL_REDUCE_SUM, r.comm, r.stream));
    int sum = 0;
    for (size_t from = 0; from < r.size; ++from) sum += value(from, r.rank, 9);
    CHECK(fetch(y, count, r.stream)[9] == sum);

    for (uint32_t root = 0; root < r.size; ++root) {
        OK(HcclScatter(r.rank == root ? all : nullptr, y, count, type, root, r.comm, r.stream));
        CHECK(fetch(y, count, r.stream)[6] == value(root, r.rank, 6));
        int* shared = onDevice<int>(mine);
        OK(HcclBroadcast(shared, count, type, root, r.comm, r.stream));
        CHECK(fetch(shared, count, r.stream)[5] == value(root, 0, 5));
        OK(aclrtFree(shared));
    }
    OK(HcclBarrier(r.comm, r.stream));
    OK(aclrtSynchronizeStream(r.stream));
    for (int* memory : {x, all, y}) OK(aclrtFree(memory));
}

/** Rank i has i + 1 elements, with a gap of one element after each part. */
void uneven(const Rank& r) {
    constexpr HcclDataType type = HCCL_DATA_TYPE_INT32;
    std::vector<uint64_t> counts, displs;
    uint64_t end = 0;
    for (uint64_t i = 0; i < r.size; ++i) {
        counts.push_back(i + 1);
        displs.push_back(end);
        end += i + 2;
    }
    int* mine = onDevice<int>(std::vector<int>(r.rank + 1, static_cast<int>(r.rank)));
    int* all = onDevice<int>(end);
    OK(HcclAllGatherV(mine, r.rank + 1, all, counts.data(), displs.data(), type, r.comm, r.stream));
    std::vector<int> result = fetch(all, end, r.stream);
    for (size_t i = 0; i < r.size; ++i)
        CHECK(result[displs[i] + i] == static_cast<int>(i) && result[displs[i] + i + 1] == -1);

    int* input = onDevice<int>(std::vector<int>(end, static_cast<int>(r.rank + 1)));
    OK(HcclReduceScatterV(input, counts.data(), displs.data(), mine, r.rank + 1, type, HCCL_REDUCE_SUM, r.comm,
                          r.stream));
    CHECK(fetch(mine, r.rank + 1, r.stream)[r.rank] == static_cast<int>(r.size * (r.size + 1) / 2));

    // Every rank sends i + 1 elements to rank i; a matrix says the same without gaps.
    std::vector<uint64_t> received(r.size, r.rank + 1), places, matrix;
    for (uint64_t i = 0; i < r.size; ++i) places.push_back(i * (r.rank + 1));
    for (uint64_t i = 0; i < r.size; ++i) matrix.insert(matrix.end(), counts.begin(), counts.end());
    int* got = onDevice<int>(r.size * (r.rank + 1));
    OK(HcclAlltoAllV(input, counts.data(), displs.data(), type, got, received.data(), places.data(), type, r.comm,
                     r.stream));
    result = fetch(got, r.size * (r.rank + 1), r.stream);
    for (size_t i = 0; i < r.size; ++i) CHECK(result[places[i] + r.rank] == static_cast<int>(i + 1));
    OK(aclrtMemset(got, r.size * (r.rank + 1) * 4, 0, r.size * (r.rank + 1) * 4));
    OK(HcclAlltoAllVC(input, matrix.data(), type, got, type, r.comm, r.stream));
    result = fetch(got, r.size * (r.rank + 1), r.stream);
    for (size_t i = 0; i < r.size; ++i) CHECK(result[places[i] + r.rank] == static_cast<int>(i + 1));
    OK(HcclAlltoAllV(nullptr, std::vector<uint64_t>(r.size).data(), displs.data(), type, nullptr,
                     std::vector<uint64_t>(r.size).data(), places.data(), type, r.comm, r.stream));
    OK(aclrtSynchronizeStream(r.stream));
    for (int* memory : {mine, all, input, got}) OK(aclrtFree(memory));
}

void messages(const Rank& r) {
    constexpr HcclDataType type = HCCL_DATA_TYPE_INT32;
    uint32_t next = (r.rank + 1) % r.size;
    uint32_t before = (r.rank + r.size - 1) % r.size;
    int* x = onDevice<int>(std::vector<int>(100, static_cast<int>(r.rank)));
    int* y = onDevice<int>(100);
    HcclSendRecvItem items[] = {
        {HCCL_SEND, x, 100, type, next}, {HCCL_RECV, y, 100, type, before}, {HCCL_SEND, nullptr, 100, type, next}};
    OK(HcclBatchSendRecv(items, 3, r.comm, r.stream));
    CHECK(fetch(y, 100, r.stream)[99] == static_cast<int>(before));
    if (r.size == 1) return;
    OK(HcclGroupStart());
    OK(HcclSend(x, 100, type, before, r.comm, r.stream));
    OK(HcclRecv(y, 100, type, next, r.comm, r.stream));
    OK(HcclGroupEnd());
    CHECK(fetch(y, 100, r.stream)[99] == static_cast<int>(next));
    // One after the other.
    if (r.rank > 0) OK(HcclRecv(y, 100, type, r.rank - 1, r.comm, r.stream));
    if (r.rank + 1 < r.size) OK(HcclSend(r.rank == 0 ? x : y, 100, type, r.rank + 1, r.comm, r.stream));
    CHECK(r.rank == 0 || fetch(y, 100, r.stream)[99] == 0);
    OK(aclrtSynchronizeStream(r.stream));
}

void everything(const Rank& r) {
    reductions<float>(r, HCCL_DATA_TYPE_FP32);
    reductions<int64_t>(r, HCCL_DATA_TYPE_INT64);
    reductions<int16_t>(r, HCCL_DATA_TYPE_INT16);
    reductions<int8_t>(r, HCCL_DATA_TYPE_INT8);
    movements(r);
    uneven(r);
    messages(r);
}

void process(const Context& context) {
    Rank r{static_cast<uint32_t>(context.rank), static_cast<uint32_t>(context.size), join(context), newStream()};
    everything(r);
    OK(HcclCommDestroy(r.comm));
    OK(aclrtDestroyStream(r.stream));
    OK(aclrtResetDevice(context.rank));
    OK(aclFinalize());
}

void threads(const Context&) {
    use(0);
    HcclComm comms[4];
    int32_t devices[] = {0, 1, 2, 3};
    OK(HcclCommInitAll(4, devices, comms));
    std::vector<std::thread> ranks;
    for (uint32_t rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&, rank] {
            use(static_cast<int>(rank));
            everything({rank, 4, comms[rank], newStream()});
            OK(HcclCommDestroy(comms[rank]));
        });
    }
    for (std::thread& thread : ranks) thread.join();
}

/** As real ranks would: both send first, and neither ever receives. */
void bothSendFirst(const Context& context) {
    HcclComm comm = join(context);
    aclrtStream stream = newStream();
    float* x = onDevice<float>(4);
    uint32_t peer = 1 - static_cast<uint32_t>(context.rank);
    OK(HcclSend(x, 4, HCCL_DATA_TYPE_FP32, peer, comm, stream));
    OK(HcclRecv(x, 4, HCCL_DATA_TYPE_FP32, peer, comm, stream));
    EXPECT(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 300));
}

}  // namespace

void addCollectiveCases(std::vector<Case>& cases) {
    for (int ranks = 1; ranks <= 4; ++ranks) {
        cases.push_back({"collectives, processes: " + std::to_string(ranks), ranks, {"MOCK_DELAY_US=20"}, process});
    }
    cases.push_back({"collectives, threads: 4", 1, {}, threads});
    cases.push_back({"both send first", 2, {}, bothSendFirst});
}
