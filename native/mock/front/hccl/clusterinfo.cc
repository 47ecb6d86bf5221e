// Communicators from a rank table: rank 0 hands out the id on a socket whose name comes from the table's text. The name
// is in no file system, so nothing is left behind.
#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "front.h"
#include "ranktable.h"

using namespace mock;
using namespace mock::hccl;

namespace {

using Clock = std::chrono::steady_clock;

socklen_t nameSocket(uint64_t digest, sockaddr_un* address) {
    *address = {};
    address->sun_family = AF_UNIX;
    int length = std::snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mock-hccl-%d-%llx",
                               static_cast<int>(getuid()), static_cast<unsigned long long>(digest));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

/** Repeats an attempt until it works or the time is over. */
template <class Attempt>
bool persist(Clock::time_point end, Attempt attempt) {
    while (!attempt()) {
        if (Clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

HcclResult handOut(const char* call, uint64_t digest, int others, Clock::time_point end, UniqueId* id) {
    Result created = Segment::createId(id);
    if (created != Result::Ok) return translate(created, call);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address;
    socklen_t length = nameSocket(digest, &address);
    bool done = persist(end, [&] {
        return bind(server, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(server, others) == 0;
    });
    for (int i = 0; i < others && done; ++i) {
        done = persist(end, [&] {
            int client = accept(server, nullptr, nullptr);
            if (client < 0) return false;
            bool sent = write(client, id, sizeof *id) == static_cast<ssize_t>(sizeof *id);
            close(client);
            return sent;
        });
    }
    close(server);
    return done ? HCCL_SUCCESS : fail(HCCL_E_TIMEOUT, "%s: not all ranks of the table came in time", call);
}

HcclResult ask(const char* call, uint64_t digest, Clock::time_point end, UniqueId* id) {
    sockaddr_un address;
    socklen_t length = nameSocket(digest, &address);
    bool done = persist(end, [&] {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool got = connect(client, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                   read(client, id, sizeof *id) == static_cast<ssize_t>(sizeof *id);
        close(client);
        return got;
    });
    return done ? HCCL_SUCCESS : fail(HCCL_E_TIMEOUT, "%s: rank 0 of the table did not come in time", call);
}

HcclResult initialize(const char* call, const char* path, uint32_t rank, const HcclCommConfig* config, HcclComm* comm) {
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    noteThreadDevice(device);
    if (path == nullptr || comm == nullptr) return fail(HCCL_E_PTR, "%s: null argument", call);
    Options options;
    HcclResult read = readConfig(call, config, &options);
    if (read != HCCL_SUCCESS) return read;
    auto limit = settings(options, device).joinLimit;
    RankTable table;
    read = readRankTable(call, path, limit.count(), &table);
    if (read != HCCL_SUCCESS) return read;
    if (rank >= table.devices.size()) return fail(HCCL_E_PARA, "%s: rank %u is not in the table", call, rank);
    int physical = vendorRuntime().physicalDevice(device);
    if (table.devices[rank] != physical) {
        return fail(HCCL_E_UNAVAIL, "%s: the table has rank %u on device %d, the thread is on %d", call, rank,
                    table.devices[rank], physical);
    }
    // Several servers of a table may be this one machine.
    options.server = table.servers[rank];
    auto size = static_cast<uint32_t>(table.devices.size());
    UniqueId id;
    Clock::time_point end = Clock::now() + limit;
    HcclResult met = rank == 0 ? handOut(call, table.digest, static_cast<int>(size) - 1, end, &id)
                               : ask(call, table.digest, end, &id);
    return met == HCCL_SUCCESS ? join(call, size, rank, device, id, options, true, comm) : met;
}

}  // namespace

MOCK_API HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
    return initialize("HcclCommInitClusterInfo", clusterInfo, rank, nullptr, comm);
}

MOCK_API HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                                  HcclComm* comm) {
    if (config == nullptr) return fail(HCCL_E_PTR, "HcclCommInitClusterInfoConfig: null config");
    return initialize("HcclCommInitClusterInfoConfig", clusterInfo, rank, config, comm);
}
