// What the parts of the NCCL front share: handles, results and error texts.
#pragma once
#include <memory>

#include "../../engine/comm/group.h"
#include "../../engine/comm/vendor.h"
#include "types.h"

namespace mock::nccl {

extern const int builtVersion;

/** Null for anything that is no live communicator. */
std::shared_ptr<Communicator> find(ncclComm_t handle);
ncclComm_t publish(std::shared_ptr<Communicator> communicator);
/** False when the handle was not, or is no longer, live. */
bool retire(ncclComm_t handle);

/** Sets the text of ncclGetLastError and returns the code. */
ncclResult_t fail(ncclResult_t code, const char* text);
ncclResult_t translate(Result result, const char* call);

/** What ncclCommGetAsyncError answers. */
ncclResult_t asyncState(const Communicator& communicator);
/** Success, or why the communicator may not be used by a call. */
ncclResult_t ensureReady(const std::shared_ptr<Communicator>& communicator, const char* call);

/** Inside a group an error also comes out of its end. */
ncclResult_t inGroup(ncclResult_t code);

const char* textOf(ncclResult_t code);

}  // namespace mock::nccl
