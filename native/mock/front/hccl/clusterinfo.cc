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

socklen_t nameSocket(uint64_t digest, sockaddr_un* address) {
    *address = {};
    address->sun_family = AF_UNIX;
    int length = std::snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mock-hccl-%d-%llx",
                               static_cast<int>(getuid()), static_cast<unsigned long long>(digest));
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

/** Repeats an attempt until it works. */
template <class Attempt>
void persist(Attempt attempt) {
    while (!attempt()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

HcclResult handOut(const char* call, uint64_t digest, int others, UniqueId* id) {
    Result created = Segment::createId(id);
    if (created != Result::Ok) return translate(created, call);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address;
    socklen_t length = nameSocket(digest, &address);
    persist([&] {
        return bind(server, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(server, others) == 0;
    });
    for (int i = 0; i < others; ++i) {
        persist([&] {
            int client = accept(server, nullptr, nullptr);
            if (client < 0) return false;
            bool sent = write(client, id, sizeof *id) == static_cast<ssize_t>(sizeof *id);
            close(client);
            return sent;
        });
    }
    close(server);
    return HCCL_SUCCESS;
}

HcclResult ask(uint64_t digest, UniqueId* id) {
    sockaddr_un address;
    socklen_t length = nameSocket(digest, &address);
    persist([&] {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool got = connect(client, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                   read(client, id, sizeof *id) == static_cast<ssize_t>(sizeof *id);
        close(client);
        return got;
    });
    return HCCL_SUCCESS;
}

HcclResult initialize(const char* call, const char* path, uint32_t rank, const HcclCommConfig* config, HcclComm* comm) {
    int device = threadDevice(call);
    if (device < 0) return HCCL_E_RUNTIME;
    noteThreadDevice(device);
    Forming forming(call, device);
    if (path == nullptr || comm == nullptr) return fail(HCCL_E_PTR, "%s: null argument", call);
    Options options;
    HcclResult read = readConfig(call, config, &options);
    if (read != HCCL_SUCCESS) return read;
    RankTable table;
    read = readRankTable(call, path, &table);
    if (read != HCCL_SUCCESS) return read;
    if (rank >= table.devices.size()) return fail(HCCL_E_PARA, "%s: rank %u is not in the table", call, rank);
    if (table.devices[rank] != device) {
        return fail(HCCL_E_UNAVAIL, "%s: the table has rank %u on device %d, the thread is on %d", call, rank,
                    table.devices[rank], device);
    }
    // Several servers of a table may be this one machine.
    options.server = table.servers[rank];
    auto size = static_cast<uint32_t>(table.devices.size());
    UniqueId id;
    HcclResult met =
        rank == 0 ? handOut(call, table.digest, static_cast<int>(size) - 1, &id) : ask(table.digest, &id);
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
