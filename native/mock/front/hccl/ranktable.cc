#include "ranktable.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "front.h"
#include "json.h"
#include "support.h"

namespace mock::hccl {

namespace {

struct Entry {
    int rank;
    int device;
    int server;
};

HcclResult wrong(const char* call, const std::string& what) {
    return fail(HCCL_E_PARA, "%s: EI0004: rank table: %s", call, what.c_str());
}

/** A member that is a text, as even numbers have to be; empty otherwise. */
std::string textOf(const Json& object, const char* name) {
    const Json* found = object.member(name);
    return found != nullptr && found->kind == Json::Kind::Text ? found->text : "";
}

bool numberOf(const Json& object, const char* name, int* number) {
    std::string text = textOf(object, name);
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return false;
    *number = std::stoi(text);
    return true;
}

const std::vector<Json>* arrayOf(const Json& object, const char* name) {
    const Json* found = object.member(name);
    bool usable = found != nullptr && found->kind == Json::Kind::Array && !found->items.empty();
    return usable ? &found->items : nullptr;
}

bool hasOnlyTexts(const Json& json) {
    if (json.kind == Json::Kind::Other) return false;
    for (const auto& [name, member] : json.members) {
        if (!hasOnlyTexts(member)) return false;
    }
    return std::all_of(json.items.begin(), json.items.end(), hasOnlyTexts);
}

HcclResult readDevices(const char* call, const Json& server, int index, bool needsAddress,
                       std::vector<Entry>* entries) {
    const std::vector<Json>* devices = arrayOf(server, "device");
    if (devices == nullptr) return wrong(call, "a server has no device");
    std::set<int> seen;
    for (const Json& device : *devices) {
        Entry entry{0, 0, index};
        if (!numberOf(device, "device_id", &entry.device) || entry.device > 15) return wrong(call, "device_id");
        if (!seen.insert(entry.device).second) return wrong(call, "a device_id comes twice in a server");
        if (!numberOf(device, "rank_id", &entry.rank)) return wrong(call, "rank_id");
        if (needsAddress && textOf(device, "device_ip").empty()) return wrong(call, "several servers need device_ip");
        entries->push_back(entry);
    }
    return HCCL_SUCCESS;
}

HcclResult readServers(const char* call, const Json& top, std::vector<Entry>* entries) {
    const std::vector<Json>* servers = arrayOf(top, "server_list");
    if (servers == nullptr) return wrong(call, "no server_list");
    int count = static_cast<int>(servers->size());
    int announced = count;
    if (top.member("server_count") != nullptr && (!numberOf(top, "server_count", &announced) || announced != count)) {
        return wrong(call, "server_count is not the number of servers");
    }
    std::set<std::string> names;
    size_t size = 0;
    for (int i = 0; i < count; ++i) {
        const Json& server = (*servers)[static_cast<size_t>(i)];
        std::string name = textOf(server, "server_id");
        if (name.empty() || name.size() > 64 || !names.insert(name).second) return wrong(call, "server_id");
        size_t before = entries->size();
        HcclResult read = readDevices(call, server, i, count > 1, entries);
        if (read != HCCL_SUCCESS) return read;
        if (i > 0 && entries->size() - before != size) return wrong(call, "servers have different numbers of devices");
        size = entries->size() - before;
    }
    return HCCL_SUCCESS;
}

/** Of a version 1.2 with pods: each server in exactly one. */
HcclResult checkPods(const char* call, const Json& top) {
    if (top.member("super_pod_list") == nullptr) return HCCL_SUCCESS;
    const std::vector<Json>* pods = arrayOf(top, "super_pod_list");
    if (pods == nullptr) return wrong(call, "super_pod_list");
    std::set<std::string> servers;
    for (const Json& server : *arrayOf(top, "server_list")) servers.insert(textOf(server, "server_id"));
    for (const Json& pod : *pods) {
        const std::vector<Json>* members = arrayOf(pod, "server_list");
        if (textOf(pod, "super_pod_id").empty() || members == nullptr) return wrong(call, "a pod lacks its parts");
        for (const Json& member : *members) {
            if (servers.erase(textOf(member, "server_id")) == 0) return wrong(call, "a pod names a server it cannot");
        }
    }
    if (!servers.empty()) return wrong(call, "a server is in no pod");
    for (const Json& server : *arrayOf(top, "server_list")) {
        for (const Json& device : *arrayOf(server, "device")) {
            int ignored = 0;
            if (!numberOf(device, "super_device_id", &ignored)) return wrong(call, "super_device_id");
        }
    }
    return HCCL_SUCCESS;
}

/** The opposite of the older versions: a number in quotes throws in the real one. */
bool countOf(const Json& object, const char* name, int most, int* number) {
    const Json* found = object.member(name);
    if (found == nullptr || found->kind != Json::Kind::Other || found->text.size() > 9) return false;
    if (found->text.find_first_not_of("0123456789") != std::string::npos) return false;
    *number = std::stoi(found->text);
    return *number <= most;
}

bool isPlace(const Json& address, std::map<std::string, std::string>* owners) {
    std::string type = textOf(address, "addr_type");
    std::string text = textOf(address, "addr");
    const std::vector<Json>* ports = arrayOf(address, "ports");
    if ((type != "EID" && type != "IPV4" && type != "IPV6") || text.empty() || text.size() > 256) return false;
    if (type == "EID" && (text.size() != 32 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)) {
        return false;
    }
    if (ports == nullptr || ports->size() > 16) return false;
    return std::all_of(ports->begin(), ports->end(), [&](const Json& port) {
        bool named = port.kind == Json::Kind::Text && !port.text.empty() && port.text.size() <= 32;
        return named && owners->emplace(port.text, text).first->second == text;
    });
}

/** The networks of a rank, from inside the server outwards; `server` is the name of the first. */
HcclResult readLevels(const char* call, const Json& rank, std::map<std::string, size_t>* sizes, std::string* server) {
    const std::vector<Json>* levels = arrayOf(rank, "level_list");
    if (levels == nullptr || levels->size() > 8) return wrong(call, "level_list");
    int before = -1;
    for (const Json& level : *levels) {
        int layer = 0;
        std::string name = textOf(level, "net_instance_id");
        if (!countOf(level, "net_layer", 7, &layer) || layer <= before) return wrong(call, "net_layer");
        if (name.empty() || name.size() > 1024) return wrong(call, "net_instance_id");
        if (before < 0) *server = name;
        before = layer;
        const Json* addresses = level.member("rank_addr_list");
        if (addresses == nullptr || addresses->kind != Json::Kind::Array || addresses->items.size() > 24) {
            return wrong(call, "rank_addr_list");
        }
        std::map<std::string, std::string> owners;
        for (const Json& address : addresses->items) {
            if (!isPlace(address, &owners)) return wrong(call, "an address, or its ports");
        }
        size_t size = addresses->items.size();
        if (sizes->emplace(std::to_string(layer) + " " + name, size).first->second != size) {
            return wrong(call, "ranks of one network have different numbers of addresses");
        }
    }
    return HCCL_SUCCESS;
}

/** Version 2.0, of the newest chips. */
HcclResult readRanks(const char* call, const Json& top, std::vector<Entry>* entries) {
    const std::vector<Json>* ranks = arrayOf(top, "rank_list");
    int count = 0;
    if (ranks == nullptr) return wrong(call, "no rank_list");
    if (!countOf(top, "rank_count", 65536, &count) || static_cast<size_t>(count) != ranks->size()) {
        return wrong(call, "rank_count is not the number of ranks");
    }
    std::map<std::string, int> servers;
    std::map<std::string, size_t> sizes;
    for (const Json& rank : *ranks) {
        Entry entry{};
        int local = 0;
        std::string server;
        if (!countOf(rank, "rank_id", count - 1, &entry.rank)) return wrong(call, "rank_id");
        if (!countOf(rank, "device_id", 64, &entry.device)) return wrong(call, "device_id");
        if (!countOf(rank, "local_id", 64, &local)) return wrong(call, "local_id");
        HcclResult read = readLevels(call, rank, &sizes, &server);
        if (read != HCCL_SUCCESS) return read;
        entry.server = servers.emplace(server, static_cast<int>(servers.size())).first->second;
        entries->push_back(entry);
    }
    return HCCL_SUCCESS;
}

HcclResult order(const char* call, std::vector<Entry> entries, RankTable* table) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
    for (size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].rank != static_cast<int>(i)) return wrong(call, "rank_id has gaps, or comes twice");
        table->devices.push_back(entries[i].device);
        table->servers.push_back(entries[i].server);
    }
    std::set<int> left;
    for (size_t i = 1; i < entries.size(); ++i) {
        if (entries[i].server == entries[i - 1].server) continue;
        left.insert(entries[i - 1].server);
        if (left.count(entries[i].server) != 0) return wrong(call, "a server's ranks are not next to one another");
    }
    return HCCL_SUCCESS;
}

}  // namespace

HcclResult readRankTable(const char* call, const char* path, RankTable* table) {
    char real[PATH_MAX];
    if (std::strlen(path) >= 4096) return wrong(call, "path is too long");
    if (realpath(path, real) == nullptr) return wrong(call, std::string("there is no file ") + path);
    size_t length = std::strlen(real);
    if (length < 5 || std::strcmp(real + length - 5, ".json") != 0) {
        return fail(HCCL_E_INTERNAL, "%s: %s does not end in .json", call, real);
    }
    std::ifstream file(real);
    std::stringstream text;
    text << file.rdbuf();
    Json top;
    if (!file.is_open() || !parseJson(text.str(), &top)) return wrong(call, "no JSON");
    table->digest = std::hash<std::string>()(text.str() + real);
    std::string version = textOf(top, "version");
    bool newest = chip() == Chip::A5;
    if (newest && version != "2.0") return wrong(call, "version is not \"2.0\"");
    if (newest) {
        std::vector<Entry> ranks;
        HcclResult read = readRanks(call, top, &ranks);
        return read == HCCL_SUCCESS ? order(call, ranks, table) : read;
    }
    // The real one waits for it, as long as for other ranks.
    if (textOf(top, "status") != "completed") {
        return fail(HCCL_E_TIMEOUT, "%s: the rank table's status is not completed", call);
    }
    if (version != "1.0" && version != "1.2") {
        return fail(HCCL_E_NOT_SUPPORT, "%s: rank table of version \"%s\"", call, version.c_str());
    }
    if (!hasOnlyTexts(top)) return wrong(call, "every value has to be a string, numbers too");
    std::vector<Entry> entries;
    HcclResult read = readServers(call, top, &entries);
    if (read == HCCL_SUCCESS && version == "1.2") read = checkPods(call, top);
    return read == HCCL_SUCCESS ? order(call, entries, table) : read;
}

}  // namespace mock::hccl
