// What the parts of the NCCL front share: handles, results and error texts.
#pragma once
#include <memory>
#include <string>
#include <optional>

#include "../../engine/comm/group.h"
#include "../../engine/comm/vendor.h"
#include "types.h"

namespace mock::nccl {

extern const int builtVersion;

/** Null for null; anything else that is no live communicator ends the process. */
std::shared_ptr<Communicator> find(ncclComm_t handle);
ncclComm_t publish(std::shared_ptr<Communicator> communicator);
/** Frees the library's side, which no thread may be inside of. */
void retire(ncclComm_t handle, const std::shared_ptr<Communicator>& communicator);

/** Sets the text of ncclGetLastError and returns the code. */
ncclResult_t fail(ncclResult_t code, const char* text);
/** The same for a job, whose text the call that has it done does not replace. */
void say(const std::string& text);
ncclResult_t translate(Result result, const char* call);

/** What ncclCommGetAsyncError answers. The first success ends the job, which no two threads may do. */
ncclResult_t askState(Communicator& communicator);
/** Success, or why the communicator may not be used by a call. */
ncclResult_t ensureReady(const std::shared_ptr<Communicator>& communicator, const char* call);

/** A call on a communicator, or on none. */
class Visit {
public:
    explicit Visit(const std::shared_ptr<Communicator>& communicator) {
        if (communicator != nullptr) inside_.emplace(communicator);
    }

private:
    std::optional<Inside> inside_;
};

/** Inside a group an error also comes out of its end. */
ncclResult_t inGroup(ncclResult_t code);

const char* textOf(ncclResult_t code);

}  // namespace mock::nccl
