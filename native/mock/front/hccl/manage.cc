// The management calls beside making and ending communicators.
#include "../acl/release.h"
#include "front.h"
#include "support.h"

using namespace mock;
using namespace mock::hccl;

namespace {

std::atomic<int32_t> deterministic{0};

/** For what only some chips have, and the mock has for none. */
HcclResult unsupported(const char* call, HcclComm handle) {
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    return entered != HCCL_SUCCESS ? entered : fail(HCCL_E_NOT_SUPPORT, "%s: not mocked", call);
}

HcclResult suspend(const char* call, HcclComm handle, bool suspended) {
    std::shared_ptr<Comm> comm;
    HcclResult entered = enter(call, handle, &comm);
    if (entered == HCCL_SUCCESS) comm->suspended = suspended;
    return entered;
}

}  // namespace

MOCK_API HcclResult HcclCommSuspend(HcclComm comm) { return suspend("HcclCommSuspend", comm, true); }
MOCK_API HcclResult HcclCommResume(HcclComm comm) { return suspend("HcclCommResume", comm, false); }

MOCK_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value) {
    if (config != HCCL_DETERMINISTIC) return fail(HCCL_E_NOT_SUPPORT, "HcclSetConfig: no config %d", config);
    if (value.value < 0 || value.value > 2) return fail(HCCL_E_PARA, "HcclSetConfig: value %d", value.value);
    if (std::getenv("HCCL_DETERMINISTIC") == nullptr) deterministic = value.value;
    return HCCL_SUCCESS;
}

MOCK_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value) {
    if (value == nullptr) return fail(HCCL_E_PTR, "HcclGetConfig: null argument");
    if (config != HCCL_DETERMINISTIC) return fail(HCCL_E_NOT_SUPPORT, "HcclGetConfig: no config %d", config);
    value->value = deterministic;
    return HCCL_SUCCESS;
}

MOCK_API uint32_t HcclGetCommConfigCapability() { return acl::release.capability; }

MOCK_API HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup, uint32_t nRanks) {
    if (ranks == nullptr || useBackup == nullptr) return fail(HCCL_E_PTR, "HcclCommWorkingDevNicSet: null argument");
    // Any byte but 0 and 1 means that the caller's elements are wider.
    for (uint32_t i = 0; i < nRanks; ++i) {
        unsigned char byte = reinterpret_cast<unsigned char*>(useBackup)[i];
        if (byte > 1) return fail(HCCL_E_PARA, "HcclCommWorkingDevNicSet: %u is no bool", byte);
    }
    return unsupported("HcclCommWorkingDevNicSet", comm);
}

MOCK_API HcclResult HcclCommSetMemoryRange(HcclComm comm, void*, size_t, size_t, uint64_t) {
    return unsupported("HcclCommSetMemoryRange", comm);
}
MOCK_API HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void*) {
    return unsupported("HcclCommUnsetMemoryRange", comm);
}
MOCK_API HcclResult HcclCommActivateCommMemory(HcclComm comm, void*, size_t, size_t, aclrtDrvMemHandle, uint64_t) {
    return unsupported("HcclCommActivateCommMemory", comm);
}
MOCK_API HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void*) {
    return unsupported("HcclCommDeactivateCommMemory", comm);
}
MOCK_API HcclResult HcclCommRegister(HcclComm comm, void*, uint64_t, void**, uint32_t) {
    return unsupported("HcclCommRegister", comm);
}
MOCK_API HcclResult HcclCommDeregister(HcclComm comm, void*) { return unsupported("HcclCommDeregister", comm); }
MOCK_API HcclResult HcclCommExchangeMem(HcclComm comm, void*, uint32_t*, uint32_t) {
    return unsupported("HcclCommExchangeMem", comm);
}

MOCK_API HcclResult HcclGroupStart() {
    Group::current().start();
    return HCCL_SUCCESS;
}

MOCK_API HcclResult HcclGroupEnd() {
    Group& group = Group::current();
    if (!group.isOpen()) return fail(HCCL_E_PARA, "HcclGroupEnd: not in a group");
    return group.leave() ? translate(group.flush(), "HcclGroupEnd") : HCCL_SUCCESS;
}

MOCK_API HcclResult HcclGroupStatusGet(bool* status) {
    if (status == nullptr) return fail(HCCL_E_PTR, "HcclGroupStatusGet: null argument");
    *status = Group::current().isOpen();
    return HCCL_SUCCESS;
}

MOCK_API HcclResult HcclCommGetStatus(const char* commName, HcclCommStatus* status) {
    if (commName == nullptr || status == nullptr) return fail(HCCL_E_PTR, "HcclCommGetStatus: null argument");
    int device = threadDevice("HcclCommGetStatus");
    if (device < 0) return HCCL_E_RUNTIME;
    HcclComm handle = named(device, commName);
    *status = handle == nullptr                              ? HCCL_COMM_STATUS_INVALID
              : find("HcclCommGetStatus", handle)->suspended ? HCCL_COMM_STATUS_SUSPENDING
                                                             : HCCL_COMM_STATUS_READY;
    return HCCL_SUCCESS;
}
