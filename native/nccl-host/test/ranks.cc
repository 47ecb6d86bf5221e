// NCCL's host code on mock devices without a JVM:  ranks RANKS threads|processes WHAT...
//   collectives   every type and reduction, from no element to more than the buffers hold
//   messages      all to all, to the rank itself, of no bytes
//   graphs        captured, replayed, mixed with eager work
//   splits=N      N times: split, a collective, destroy
//   aborts=N      N communicators, each aborted at a random moment of its collectives
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <filesystem>
#include <functional>
#include <nccl.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(const char* call, int code, const char* text) {
    std::fprintf(stderr, "%s answered %d (%s); last error: %s\n", call, code, text, ncclGetLastError(nullptr));
    std::abort();
}

#define CUDA(call)                                                                     \
    do {                                                                               \
        if (cudaError_t answer = call) fail(#call, answer, cudaGetErrorString(answer)); \
    } while (false)
#define NCCL(call)                                                                     \
    do {                                                                               \
        if (ncclResult_t answer = call) fail(#call, answer, ncclGetErrorString(answer)); \
    } while (false)

void expect(bool right, const char* what, size_t index, double got, double wanted) {
    if (right) return;
    std::fprintf(stderr, "%s: element %zu is %g, not %g\n", what, index, got, wanted);
    std::abort();
}

class Memory {
public:
    explicit Memory(size_t bytes) : bytes_(bytes) { CUDA(cudaMalloc(&address_, bytes == 0 ? 1 : bytes)); }
    ~Memory() { cudaFree(address_); }
    Memory(const Memory&) = delete;
    void* get() const { return address_; }

    template <class T>
    void put(const std::vector<T>& values) {
        if (!values.empty()) CUDA(cudaMemcpy(address_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }

    template <class T>
    std::vector<T> take() const {
        std::vector<T> values(bytes_ / sizeof(T));
        if (bytes_ > 0) CUDA(cudaMemcpy(values.data(), address_, bytes_, cudaMemcpyDeviceToHost));
        return values;
    }

private:
    void* address_ = nullptr;
    const size_t bytes_;
};

struct Rank {
    int rank, size;
    ncclComm_t comm;
    cudaStream_t stream;

    void sync() const { CUDA(cudaStreamSynchronize(stream)); }
};

template <class T>
double widen(T value) {
    return static_cast<double>(static_cast<float>(value));
}
template <>
double widen<double>(double value) {
    return value;
}

/** Small numbers, so that sums are exact in every type. */
int valueOf(int rank, size_t i) { return 1 + static_cast<int>((i + static_cast<size_t>(rank)) % 2); }

double reduced(ncclRedOp_t op, int size, size_t i) {
    double result = valueOf(0, i);
    for (int r = 1; r < size; ++r) {
        double next = valueOf(r, i);
        result = op == ncclProd  ? result * next
                 : op == ncclMax ? std::max(result, next)
                 : op == ncclMin ? std::min(result, next)
                                 : result + next;
    }
    return op == ncclAvg ? result / size : result;
}

template <class T>
std::vector<T> values(int rank, size_t count) {
    std::vector<T> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = T(static_cast<float>(valueOf(rank, i)));
    return result;
}

template <class T>
void compare(const char* what, const std::vector<T>& got, size_t from, size_t count, ncclRedOp_t op, int size,
             size_t first) {
    for (size_t i = 0; i < count; ++i) {
        double wanted = reduced(op, size, first + i), value = widen(got[from + i]);
        bool whole = std::is_integral_v<T>;
        double near = whole ? 0 : (sizeof(T) == 1 ? 0.13 : sizeof(T) == 2 ? 0.01 : 1e-6) * wanted;
        expect(std::fabs(value - (whole ? std::trunc(wanted) : wanted)) <= near, what, i, value, wanted);
    }
}

template <class T>
void reductions(const Rank& me, ncclDataType_t type, size_t count, ncclRedOp_t op) {
    auto n = static_cast<size_t>(me.size);
    Memory in(count * n * sizeof(T)), out(count * n * sizeof(T));
    in.put(values<T>(me.rank, count * n));
    NCCL(ncclAllReduce(in.get(), out.get(), count, type, op, me.comm, me.stream));
    me.sync();
    compare("all_reduce", out.take<T>(), 0, count, op, me.size, 0);
    NCCL(ncclReduceScatter(in.get(), out.get(), count, type, op, me.comm, me.stream));
    me.sync();
    compare("reduce_scatter", out.take<T>(), 0, count, op, me.size, static_cast<size_t>(me.rank) * count);
    int root = me.size - 1;
    NCCL(ncclReduce(in.get(), in.get(), count, type, op, root, me.comm, me.stream));
    me.sync();
    if (me.rank == root) compare("reduce", in.take<T>(), 0, count, op, me.size, 0);
}

void moves(const Rank& me, size_t count) {
    auto n = static_cast<size_t>(me.size);
    Memory in(count * 4), out(count * n * 4);
    in.put(std::vector<int>(count, me.rank + 1));
    NCCL(ncclAllGather(in.get(), out.get(), count, ncclInt32, me.comm, me.stream));
    me.sync();
    auto all = out.take<int>();
    for (size_t i = 0; i < all.size(); ++i) {
        int wanted = static_cast<int>(i / count) + 1;
        expect(all[i] == wanted, "all_gather", i, all[i], wanted);
    }
    for (int root = 0; root < me.size; ++root) {
        NCCL(ncclBroadcast(in.get(), out.get(), count, ncclInt32, root, me.comm, me.stream));
        me.sync();
        all = out.take<int>();
        for (size_t i = 0; i < count; ++i) expect(all[i] == root + 1, "broadcast", i, all[i], root + 1);
    }
    // Broadcasts in one group become one operation of the library, of uneven parts.
    NCCL(ncclGroupStart());
    for (int root = 0; root < me.size; ++root) {
        auto at = static_cast<int*>(out.get()) + static_cast<size_t>(root) * count;
        size_t part = count / static_cast<size_t>(root + 1);
        NCCL(ncclBroadcast(in.get(), at, part, ncclInt32, root, me.comm, me.stream));
    }
    NCCL(ncclGroupEnd());
    me.sync();
    all = out.take<int>();
    for (int root = 0; root < me.size; ++root) {
        for (size_t i = 0; i < count / static_cast<size_t>(root + 1); ++i) {
            int got = all[static_cast<size_t>(root) * count + i];
            expect(got == root + 1, "grouped broadcasts", i, got, root + 1);
        }
    }
}

void collectives(const Rank& me) {
    for (size_t count : {size_t(0), size_t(1), size_t(1000), size_t(300001)}) {
        for (ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
            if (count > 1000 && op != ncclSum && op != ncclAvg) continue;
            reductions<int8_t>(me, ncclInt8, count, op);
            reductions<uint8_t>(me, ncclUint8, count, op);
            reductions<int32_t>(me, ncclInt32, count, op);
            reductions<uint32_t>(me, ncclUint32, count, op);
            reductions<int64_t>(me, ncclInt64, count, op);
            reductions<uint64_t>(me, ncclUint64, count, op);
            reductions<__half>(me, ncclFloat16, count, op);
            reductions<float>(me, ncclFloat32, count, op);
            reductions<double>(me, ncclFloat64, count, op);
            reductions<__nv_bfloat16>(me, ncclBfloat16, count, op);
            reductions<__nv_fp8_e4m3>(me, ncclFloat8e4m3, count, op);
            reductions<__nv_fp8_e5m2>(me, ncclFloat8e5m2, count, op);
        }
        if (count > 0) moves(me, count);
    }
    float factor = 0.5f;
    ncclRedOp_t scaled;
    NCCL(ncclRedOpCreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, me.comm));
    Memory data(4000);
    data.put(values<float>(me.rank, 1000));
    NCCL(ncclAllReduce(data.get(), data.get(), 1000, ncclFloat32, scaled, me.comm, me.stream));
    me.sync();
    auto got = data.take<float>();
    for (size_t i = 0; i < got.size(); ++i) {
        double wanted = reduced(ncclSum, me.size, i) / 2;
        expect(got[i] == static_cast<float>(wanted), "scaled sum", i, got[i], wanted);
    }
    NCCL(ncclRedOpDestroy(scaled, me.comm));
}

void messages(const Rank& me) {
    for (size_t count : {size_t(0), size_t(1), size_t(1000), size_t(500001)}) {
        auto n = static_cast<size_t>(me.size);
        Memory in(count * n * 4), out(count * n * 4);
        std::vector<int> mine(count * n);
        for (size_t i = 0; i < mine.size(); ++i) mine[i] = me.rank * 1000 + static_cast<int>(i / count);
        in.put(mine);
        NCCL(ncclGroupStart());
        for (int r = 0; r < me.size; ++r) {
            size_t offset = static_cast<size_t>(r) * count;
            NCCL(ncclSend(static_cast<int*>(in.get()) + offset, count, ncclInt32, r, me.comm, me.stream));
            NCCL(ncclRecv(static_cast<int*>(out.get()) + offset, count, ncclInt32, r, me.comm, me.stream));
        }
        NCCL(ncclGroupEnd());
        me.sync();
        auto all = out.take<int>();
        for (size_t i = 0; i < all.size(); ++i) {
            int wanted = static_cast<int>(i / count) * 1000 + me.rank;
            expect(all[i] == wanted, "all to all", i, all[i], wanted);
        }
    }
}

void graphs(const Rank& me) {
    constexpr size_t count = 5000;
    Memory data(count * 4);
    data.put(std::vector<float>(count, 1));
    // Connections are made before the capture.
    NCCL(ncclAllReduce(data.get(), data.get(), count, ncclFloat32, ncclMax, me.comm, me.stream));
    me.sync();
    CUDA(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
    NCCL(ncclAllReduce(data.get(), data.get(), count, ncclFloat32, ncclSum, me.comm, me.stream));
    NCCL(ncclAllReduce(data.get(), data.get(), count, ncclFloat32, ncclAvg, me.comm, me.stream));
    cudaGraph_t graph;
    CUDA(cudaStreamEndCapture(me.stream, &graph));
    cudaGraphExec_t executable;
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    double wanted = 1;
    for (int i = 0; i < 5; ++i) {
        CUDA(cudaGraphLaunch(executable, me.stream));
        NCCL(ncclAllReduce(data.get(), data.get(), count, ncclFloat32, ncclMax, me.comm, me.stream));
        wanted *= me.size;
    }
    me.sync();
    for (float got : data.take<float>()) expect(got == static_cast<float>(wanted), "graph", 0, got, wanted);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
}

void splits(const Rank& me, int times) {
    Memory data(4000);
    for (int i = 0; i < times; ++i) {
        bool halves = i % 3 == 0 && me.size > 2;
        ncclComm_t child;
        NCCL(ncclCommSplit(me.comm, halves ? me.rank % 2 : 0, -me.rank, &child, nullptr));
        int size;
        NCCL(ncclCommCount(child, &size));
        data.put(std::vector<int>(1000, 1));
        NCCL(ncclAllReduce(data.get(), data.get(), 1000, ncclInt32, ncclSum, child, me.stream));
        me.sync();
        for (int got : data.take<int>()) expect(got == size, "all_reduce after a split", 0, got, size);
        NCCL(ncclCommDestroy(child));
    }
}

using Body = std::function<void(int rank, int round, const ncclUniqueId& id)>;

ncclComm_t connect(int rank, int size, const ncclUniqueId& id, bool blocking) {
    CUDA(cudaSetDevice(rank));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking;
    ncclComm_t comm = nullptr;
    ncclResult_t state = ncclCommInitRankConfig(&comm, size, id, rank, &config);
    while (state == ncclInProgress) {
        NCCL(ncclCommGetAsyncError(comm, &state));
        usleep(200);
    }
    NCCL(state);
    return comm;
}

/** Rank 0 leaves out a call at random, so that the others are stuck, and all abort at a random moment. */
void abortOnce(int rank, int size, int round, const ncclUniqueId& id) {
    std::mt19937 common(static_cast<unsigned>(round)), own(static_cast<unsigned>(round * 64 + rank));
    bool blocking = common() % 2 == 0;
    unsigned most = common() % 20, left = common() % 20;
    ncclComm_t comm = connect(rank, size, id, blocking);
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Memory data(400000);
    for (unsigned i = 0; i < most; ++i) {
        if (rank == 0 && i == left) continue;
        ncclResult_t code = ncclAllReduce(data.get(), data.get(), 100000, ncclFloat32, ncclSum, comm, stream);
        while (code == ncclInProgress) NCCL(ncclCommGetAsyncError(comm, &code));
        NCCL(code);
    }
    usleep(own() % 3000);
    NCCL(ncclCommAbort(comm));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
}

/** Where rank 0 leaves the id of a round, in memory that all processes share. */
struct Board {
    std::atomic<int> round{0};
    ncclUniqueId id;
};

/** One rank's rounds. Rank 0 changes the id when all have read it: without that no communicator was made. */
void runRank(int rank, int rounds, Board& board, const Body& body) {
    for (int round = 0; round < rounds; ++round) {
        if (rank == 0) {
            NCCL(ncclGetUniqueId(&board.id));
            board.round = round + 1;
        }
        while (board.round.load() <= round) usleep(100);
        body(rank, round, board.id);
    }
}

/** Runs a body on every rank, each a thread or a process. */
void run(int size, bool processes, int rounds, const Body& body) {
    void* shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto& board = *new (shared) Board();
    std::vector<std::thread> threads;
    std::vector<pid_t> children;
    for (int rank = 0; rank < size; ++rank) {
        if (!processes) {
            threads.emplace_back([&, rank] { runRank(rank, rounds, board, body); });
        } else if (pid_t child = fork()) {
            children.push_back(child);
        } else {
            runRank(rank, rounds, board, body);
            _exit(0);
        }
    }
    for (std::thread& thread : threads) thread.join();
    for (pid_t child : children) {
        int status;
        waitpid(child, &status, 0);
        if (status != 0) std::abort();
    }
}

/** One world for one kind of check. */
void check(int size, bool processes, const std::function<void(const Rank&)>& body) {
    run(size, processes, 1, [&](int rank, int, const ncclUniqueId& id) {
        Rank me{rank, size, connect(rank, size, id, true), nullptr};
        CUDA(cudaStreamCreateWithFlags(&me.stream, cudaStreamNonBlocking));
        body(me);
        CUDA(cudaStreamDestroy(me.stream));
        NCCL(ncclCommFinalize(me.comm));
        NCCL(ncclCommDestroy(me.comm));
    });
}

int number(const std::string& text) { return std::atoi(text.substr(text.find('=') + 1).c_str()); }

/** Threads, open files and mappings of the process. */
std::string footprint() {
    auto entries = [](const char* folder) {
        return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    };
    return std::to_string(entries("/proc/self/task")) + " threads, " + std::to_string(entries("/proc/self/fd")) +
           " files";
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) {
        std::fprintf(stderr, "usage: ranks RANKS threads|processes WHAT...\n");
        return 2;
    }
    int size = std::atoi(arguments[1]);
    bool processes = std::string(arguments[2]) == "processes";
    for (int i = 3; i < count; ++i) {
        std::string what = arguments[i];
        auto start = std::chrono::steady_clock::now();
        if (what == "collectives") {
            check(size, processes, collectives);
        } else if (what == "messages") {
            check(size, processes, messages);
        } else if (what == "graphs") {
            check(size, processes, graphs);
        } else if (what.rfind("splits=", 0) == 0) {
            check(size, processes, [&](const Rank& me) { splits(me, number(what)); });
        } else if (what.rfind("aborts=", 0) == 0) {
            run(size, processes, number(what), [&](int rank, int round, const ncclUniqueId& id) {
                abortOnce(rank, size, round, id);
            });
        } else {
            std::fprintf(stderr, "ranks: what is %s?\n", what.c_str());
            return 2;
        }
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        std::printf("%s on %d %s: right, %.1f s; %s\n", what.c_str(), size, arguments[2], seconds.count(),
                    footprint().c_str());
        std::fflush(stdout);
    }
    return 0;
}
