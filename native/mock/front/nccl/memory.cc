// Memory and its registration. Registration only checks its arguments: all memory of the mock is equally near.
#include <mutex>
#include <set>

#include "front.h"

using namespace mock;
using namespace mock::nccl;

namespace {

struct Registrations {
    std::mutex mutex;
    std::set<void*> live;
};

Registrations& registrations() {
    static auto* one = new Registrations();
    return *one;
}

}  // namespace

MOCK_API ncclResult_t ncclMemAlloc(void** address, size_t bytes) {
    if (address == nullptr || bytes == 0) return fail(ncclInvalidArgument, "ncclMemAlloc : invalid argument");
    if (vendorRuntime().deviceCount() == 0)
        return fail(ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    Status status = vendorRuntime().allocate(address, bytes);
    return status == Status::Ok ? ncclSuccess : fail(ncclUnhandledCudaError, "Cuda failure 'out of memory'");
}

MOCK_API ncclResult_t ncclMemFree(void* address) {
    if (address == nullptr) return ncclSuccess;
    Status status = vendorRuntime().release(address);
    return status == Status::Ok ? ncclSuccess : fail(ncclUnhandledCudaError, "Cuda failure 'invalid argument'");
}

MOCK_API ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
    auto communicator = find(comm);
    ncclResult_t ready = ensureReady(communicator, "ncclCommRegister");
    if (ready != ncclSuccess) return ready;
    if (buffer == nullptr || bytes == 0 || handle == nullptr ||
        vendorRuntime().deviceOf(buffer) != communicator->device) {
        return fail(ncclInvalidArgument, "ncclCommRegister : invalid argument");
    }
    *handle = ::operator new(1);
    std::lock_guard<std::mutex> lock(registrations().mutex);
    registrations().live.insert(*handle);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
    if (find(comm) == nullptr) return fail(ncclInvalidArgument, "ncclCommDeregister : invalid comm");
    {
        std::lock_guard<std::mutex> lock(registrations().mutex);
        if (registrations().live.erase(handle) == 0)
            return fail(ncclInvalidArgument, "ncclCommDeregister : invalid handle");
    }
    ::operator delete(handle);
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* window, int) {
    if (find(comm) == nullptr || buffer == nullptr || bytes == 0 || window == nullptr) {
        return fail(ncclInvalidArgument, "ncclCommWindowRegister : invalid argument");
    }
    // No window with success is how the library says that it cannot use one here.
    *window = nullptr;
    return ncclSuccess;
}

MOCK_API ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t) {
    return find(comm) != nullptr ? ncclSuccess : fail(ncclInvalidArgument, "ncclCommWindowDeregister : invalid comm");
}
