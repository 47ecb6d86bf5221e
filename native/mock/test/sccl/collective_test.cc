// Every collective, on ranks as processes and as threads.
#include <cmath>

#include "harness.h"

namespace {

double input(int rank, size_t i) { return rank + 1 + static_cast<double>(i % 3); }

double expected(int op, int size, size_t i) {
    double value = input(0, i);
    for (int r = 1; r < size; ++r) {
        double next = input(r, i);
        if (op == SCCL_REDUCE_PROD) value *= next;
        if (op == SCCL_REDUCE_MAX) value = std::max(value, next);
        if (op == SCCL_REDUCE_MIN) value = std::min(value, next);
        if (op == SCCL_REDUCE_SUM) value += next;
    }
    return value;
}

template <class T>
void reductions(const Rank& r, scclDataType_t type) {
    for (size_t count : {size_t(1), size_t(5), size_t(70000)}) {
        for (int number = SCCL_REDUCE_SUM; number <= SCCL_REDUCE_PROD; ++number) {
            auto op = static_cast<scclReduceType_t>(number);
            std::vector<T> values(count);
            for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(input(r.rank, i));
            T* x = onDevice<T>(values);
            T* y = onDevice<T>(count);
            OK(scclAllReduce(r.virt(x), r.virt(y), count, type, op, r.comm, r.handle));
            std::vector<T> result = r.fetch(y, count);
            for (size_t i = 0; i < count; ++i) {
                CHECK(std::fabs(static_cast<double>(result[i]) - expected(op, r.size, i)) < 1e-4);
            }
            int root = r.size - 1;
            bool inPlace = r.rank == root;
            OK(scclReduce(r.virt(x), r.virt(inPlace ? x : y), count, type, op, root, r.comm, r.handle));
            result = r.fetch(inPlace ? x : y, count);
            // Who is no root finds its scratch buffer written.
            CHECK(inPlace ? std::fabs(static_cast<double>(result[0]) - expected(op, r.size, 0)) < 1e-4
                          : static_cast<double>(result[0]) != expected(op, r.size, 0));
            OK(tpuFree(x));
            OK(tpuFree(y));
        }
    }
}

int value(int from, int to, size_t i) { return from * 1000000 + to * 100000 + static_cast<int>(i); }

void movements(const Rank& r) {
    constexpr size_t count = 30000;
    constexpr scclDataType_t type = SCCL_DTYPE_INT32;
    auto ranks = static_cast<size_t>(r.size);
    std::vector<int> mine(count), parts(count * ranks);
    for (size_t i = 0; i < count; ++i) mine[i] = value(r.rank, 0, i);
    for (int to = 0; to < r.size; ++to) {
        for (size_t i = 0; i < count; ++i) parts[static_cast<size_t>(to) * count + i] = value(r.rank, to, i);
    }
    int* x = onDevice<int>(mine);
    int* all = onDevice<int>(parts);
    int* y = onDevice<int>(count * ranks);
    OK(scclAllGather(r.virt(x), r.virt(y), count, type, r.comm, r.handle));
    std::vector<int> result = r.fetch(y, count * ranks);
    for (size_t from = 0; from < ranks; ++from)
        CHECK(result[from * count + 17] == value(static_cast<int>(from), 0, 17));

    // Here the count is of the whole buffer.
    OK(scclAllToAll(r.virt(all), r.virt(y), count * ranks, type, r.comm, r.handle));
    result = r.fetch(y, count * ranks);
    for (size_t from = 0; from < ranks; ++from)
        CHECK(result[from * count + 9] == value(static_cast<int>(from), r.rank, 9));

    for (int root = 0; root < r.size; ++root) {
        OK(scclScatter(r.virt(r.rank == root ? all : x), r.virt(y), count, type, root, r.comm, r.handle));
        CHECK(r.fetch(y, count)[6] == value(root, r.rank, 6));
        OK(scclGather(r.virt(x), r.virt(y), count, type, root, r.comm, r.handle));
        result = r.fetch(y, count * ranks);
        for (size_t from = 0; from < ranks && r.rank == root; ++from) {
            CHECK(result[from * count + 7] == value(static_cast<int>(from), 0, 7));
        }
        int* shared = onDevice<int>(mine);
        OK(scclBroadcast(r.virt(shared), count, type, root, r.comm, r.handle));
        CHECK(r.fetch(shared, count)[5] == value(root, 0, 5));
        OK(tpuFree(shared));
    }
    char* flags = onDevice<char>(std::vector<char>(8, static_cast<char>(r.rank == 0)));
    OK(scclBroadcast(r.virt(flags), 8, SCCL_DTYPE_BOOL, 0, r.comm, r.handle));
    CHECK(r.fetch(flags, 8)[7] == 1);

    if (r.rank > 0) OK(scclRecv(r.virt(y), count, type, r.rank - 1, r.comm, r.handle));
    if (r.rank + 1 < r.size) OK(scclSend(r.virt(r.rank == 0 ? x : y), count, type, r.rank + 1, r.comm, r.handle));
    CHECK(r.rank == 0 || r.fetch(y, count)[3] == value(0, 0, 3));
    OK(tpudnnSync(r.handle));
    for (int* memory : {x, all, y}) OK(tpuFree(memory));
}

void everything(const Rank& r) {
    reductions<float>(r, SCCL_DTYPE_FP32);
    reductions<int>(r, SCCL_DTYPE_INT32);
    movements(r);
    OK(scclCommDestroy(r.comm));
    scclDestoryHandle(r.handle);
}

void process(const Context& context) {
    Rank r(context);
    everything(r);
}

void threads(const Context& context) {
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&, rank] { everything(Rank({rank, 4, context.id})); });
    }
    for (std::thread& thread : ranks) thread.join();
}

void chipMap(const Context& context) {
    const int chips[] = {3, 1, 2};
    Rank r(context, chips);
    everything(r);
}

/** A communicator for each call, all with one id, ended while the call still runs. */
void shortLived(const Context& context) {
    Rank r(context);
    float* x = onDevice<float>(std::vector<float>(100, 1.0f));
    for (int i = 0; i < 5; ++i) {
        scclComm_t comm = nullptr;
        OK(scclCommInitRank(&comm, r.size, context.id, r.rank, nullptr));
        OK(scclAllReduce(r.virt(x), r.virt(x), 100, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, comm, r.handle));
        OK(scclCommDestroy(comm));
    }
    CHECK(r.fetch(x, 100)[99] == 32.0f);
}

/** On the caller's own stream: the flush comes first. */
void onStream(const Context& context) {
    Rank r(context);
    tpuStream_t stream = newStream();
    tpudnnHandle_t handle = tpudnnHandleFromStream(r.rank, stream, tpuKernelModuleLoad("x", 1, stream));
    float* x = onDevice<float>(100);
    OK(mockTpuFill(x, 1.0f, 100, stream));
    OK(scclAllReduce(r.virt(x), r.virt(x), 100, SCCL_DTYPE_FP32, SCCL_REDUCE_SUM, r.comm, handle));
    OK(tpuStreamSynchronize(stream));
    CHECK(read(x, 100)[99] == 1.0f);
    OK(tpudnnFlush(handle));
    OK(tpuStreamSynchronize(stream));
    CHECK(read(x, 100)[99] == 2.0f);
}

}  // namespace

void addCollectiveCases(std::vector<Case>& cases) {
    for (int ranks = 2; ranks <= 4; ++ranks) {
        cases.push_back({"collectives, processes: " + std::to_string(ranks), ranks, {"MOCK_DELAY_US=20"}, process});
    }
    cases.push_back({"collectives, threads: 4", 1, {}, threads});
    cases.push_back({"chip map", 3, {}, chipMap});
    cases.push_back({"short-lived communicators", 2, {"MOCK_DELAY_US=500"}, shortLived});
    cases.push_back({"on a stream", 2, {}, onStream});
}
