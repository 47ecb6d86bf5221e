#include <climits>
#include <cstring>
#include <new>
#include <string>

#include "jccl_nccl.h"
#include "libraries.h"

using namespace jccl::nccl;

namespace {

// Values of the vendor's headers.
constexpr unsigned kMagic = 0xcafebeef;
constexpr unsigned kVersionOfConfig = 23007;
constexpr int kScalarHostImmediate = 1;
constexpr int kRevokeDefault = 0;
constexpr int kWindowSymmetric = 1;

// NCCL reads the names for as long as the communicator lives.
struct OwnedConfig {
  Config config;
  std::string network;
  std::string name;
};

void* address(int64_t number) { return reinterpret_cast<void*>(number); }
void** cellAt(int64_t number) { return reinterpret_cast<void**>(number); }
Config* configAt(int64_t number) {
  return &reinterpret_cast<OwnedConfig*>(number)->config;
}

}  // namespace

int64_t jccl_nccl_new_cell() noexcept { return reinterpret_cast<int64_t>(new (std::nothrow) void*(nullptr)); }

int64_t jccl_nccl_cell(int64_t cell) noexcept {
  // NCCL's threads write it beside this call.
  return reinterpret_cast<int64_t>(__atomic_load_n(cellAt(cell), __ATOMIC_ACQUIRE));
}

void jccl_nccl_free_cell(int64_t cell) noexcept { delete cellAt(cell); }

int64_t jccl_nccl_new_config(int blocking, int cga_cluster_size, int min_ctas, int max_ctas, int split_share,
                             int traffic_class, int collnet, int cta_policy, int nvls_ctas, const char* network,
                             const char* name) noexcept {
  try {
    auto* owned = new OwnedConfig{};
    Config& config = owned->config;
    config.size = sizeof config;
    config.magic = kMagic;
    config.version = kVersionOfConfig;
    config.blocking = blocking;
    config.cgaClusterSize = cga_cluster_size;
    config.minCTAs = min_ctas;
    config.maxCTAs = max_ctas;
    config.splitShare = split_share;
    config.trafficClass = traffic_class;
    config.collnetEnable = collnet;
    config.CTAPolicy = cta_policy;
    config.nvlsCTAs = nvls_ctas;
    for (int* field : {&config.shrinkShare, &config.nChannelsPerNetPeer, &config.nvlinkCentricSched,
                       &config.graphUsageMode, &config.numRmaCtx, &config.maxP2pPeers, &config.graphStreamOrdering}) {
      *field = INT_MIN;
    }
    if (network != nullptr) {
      owned->network = network;
      config.netName = owned->network.c_str();
    }
    if (name != nullptr) {
      owned->name = name;
      config.commName = owned->name.c_str();
    }
    return reinterpret_cast<int64_t>(owned);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void jccl_nccl_free_config(int64_t config) noexcept { delete reinterpret_cast<OwnedConfig*>(config); }

const char* jccl_nccl_error_string(int code) noexcept { return ncclGetErrorString(code); }
const char* jccl_nccl_last_error(int64_t communicator) noexcept { return ncclGetLastError(address(communicator)); }

int jccl_nccl_version() noexcept {
  int version = 0;
  const int code = ncclGetVersion(&version);
  return code == 0 ? version : -code;
}

int jccl_nccl_get_unique_id(signed char* id) noexcept {
  UniqueId made;
  const int code = ncclGetUniqueId(&made);
  std::memcpy(id, made.bytes, sizeof made.bytes);
  return code;
}

int jccl_nccl_comm_init(
    int64_t cell, int size, const signed char* ids, int count, int rank, int64_t config) noexcept {
  if (count > 1) {
    // NCCL copies the ids before it returns, though it takes them as if it wrote to them.
    auto* all = reinterpret_cast<UniqueId*>(const_cast<signed char*>(ids));
    return ncclCommInitRankScalable(cellAt(cell), size, rank, count, all, configAt(config));
  }
  UniqueId copy;
  std::memcpy(copy.bytes, ids, sizeof copy.bytes);
  return ncclCommInitRankConfig(cellAt(cell), size, copy, rank, configAt(config));
}

int jccl_nccl_comm_split(int64_t communicator, int color, int key, int64_t cell, int64_t config) noexcept {
  return ncclCommSplit(address(communicator), color, key, cellAt(cell), configAt(config));
}

int jccl_nccl_comm_finalize(int64_t communicator) noexcept { return ncclCommFinalize(address(communicator)); }
int jccl_nccl_comm_destroy(int64_t communicator) noexcept { return ncclCommDestroy(address(communicator)); }
int jccl_nccl_comm_abort(int64_t communicator) noexcept { return ncclCommAbort(address(communicator)); }
int jccl_nccl_comm_revoke(int64_t communicator) noexcept {
  return ncclCommRevoke(address(communicator), kRevokeDefault);
}

int jccl_nccl_register(int64_t communicator, int64_t memory, int64_t bytes, int window, int64_t cell) noexcept {
  const auto size = static_cast<size_t>(bytes);
  return window != 0
             ? ncclCommWindowRegister(address(communicator), address(memory), size, cellAt(cell), kWindowSymmetric)
             : ncclCommRegister(address(communicator), address(memory), size, cellAt(cell));
}

int jccl_nccl_deregister(int64_t communicator, int window, int64_t handle) noexcept {
  return (window != 0 ? ncclCommWindowDeregister : ncclCommDeregister)(address(communicator), address(handle));
}

int jccl_nccl_comm_async_error(int64_t communicator) noexcept {
  int state = 0;
  const int code = ncclCommGetAsyncError(address(communicator), &state);
  return code != 0 ? code : state;
}

int jccl_nccl_premul_sum_create(int64_t cell, int64_t bits, int type, int64_t communicator) noexcept {
  return ncclRedOpCreatePreMulSum(reinterpret_cast<int*>(cell), &bits, type, kScalarHostImmediate,
                                  address(communicator));
}

int jccl_nccl_red_op_destroy(int operation, int64_t communicator) noexcept {
  return ncclRedOpDestroy(operation, address(communicator));
}

int jccl_nccl_group_start() noexcept { return ncclGroupStart(); }
int jccl_nccl_group_end() noexcept { return ncclGroupEnd(); }

int jccl_nccl_broadcast(int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator,
                        int64_t stream) noexcept {
  return ncclBroadcast(address(in), address(out), count, type, root, address(communicator), address(stream));
}

int jccl_nccl_all_reduce(int64_t in, int64_t out, int64_t count, int type, int operation, int64_t communicator,
                         int64_t stream) noexcept {
  return ncclAllReduce(address(in), address(out), count, type, operation, address(communicator), address(stream));
}

int jccl_nccl_reduce(int64_t in, int64_t out, int64_t count, int type, int operation, int root,
                     int64_t communicator, int64_t stream) noexcept {
  return ncclReduce(address(in), address(out), count, type, operation, root, address(communicator),
                    address(stream));
}

int jccl_nccl_reduce_scatter(int64_t in, int64_t out, int64_t count, int type, int operation, int64_t communicator,
                             int64_t stream) noexcept {
  return ncclReduceScatter(address(in), address(out), count, type, operation, address(communicator),
                           address(stream));
}

int jccl_nccl_all_gather(int64_t in, int64_t out, int64_t count, int type, int64_t communicator,
                         int64_t stream) noexcept {
  return ncclAllGather(address(in), address(out), count, type, address(communicator), address(stream));
}

int jccl_nccl_send(int64_t in, int64_t count, int type, int peer, int64_t communicator, int64_t stream) noexcept {
  return ncclSend(address(in), count, type, peer, address(communicator), address(stream));
}

int jccl_nccl_recv(int64_t out, int64_t count, int type, int peer, int64_t communicator, int64_t stream) noexcept {
  return ncclRecv(address(out), count, type, peer, address(communicator), address(stream));
}

int jccl_nccl_gather(int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator,
                     int64_t stream) noexcept {
  return ncclGather(address(in), address(out), count, type, root, address(communicator), address(stream));
}

int jccl_nccl_scatter(int64_t in, int64_t out, int64_t count, int type, int root, int64_t communicator,
                      int64_t stream) noexcept {
  return ncclScatter(address(in), address(out), count, type, root, address(communicator), address(stream));
}

int jccl_nccl_all_to_all(int64_t in, int64_t out, int64_t count, int type, int64_t communicator,
                         int64_t stream) noexcept {
  return ncclAlltoAll(address(in), address(out), count, type, address(communicator), address(stream));
}

int64_t jccl_nccl_mem_alloc(int64_t bytes) noexcept {
  void* memory = nullptr;
  const int code = ncclMemAlloc(&memory, static_cast<size_t>(bytes));
  return code == 0 ? reinterpret_cast<int64_t>(memory) : -static_cast<int64_t>(code);
}

int jccl_nccl_mem_free(int64_t address_of) noexcept { return ncclMemFree(address(address_of)); }
