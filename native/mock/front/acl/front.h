// What the parts of the ACL front share: checks and errors.
#pragma once
#include "../../engine/runtime/runtime.h"
#include "functions.h"

namespace mock::acl {

/** Keeps the text for aclGetRecentErrMsg. */
[[gnu::format(printf, 2, 3)]] aclError fail(aclError code, const char* format, ...);
aclError translate(Status status, const char* call);

/** Why this thread may not use its device now, or success. */
aclError ready(const char* call);

/** The live stream behind a handle, null being the default one; otherwise says why not. */
aclError findStreamOf(const char* call, aclrtStream handle, Stream** stream);
/**
 * Whether the stream has come past a place. Behind an operation that failed there is an error, which `code` is then, or
 * with MOCK_ACL_FAILED_EVENTS=never it never has, or with "complete" it has; a stream that does not stop at errors goes on
 * without that.
 */
bool hasPassed(const Position& position, int* code);

/** Whether events behind an operation that failed know nothing of it. */
bool failedEventsAreComplete();

/** The stream's first error since it was last told; a stopped stream keeps it. */
aclError takeError(Stream& stream, const char* call);

template <class Body>
aclError withDevice(const char* call, Body body) {
    aclError state = ready(call);
    return state != ACL_SUCCESS ? state : body();
}

template <class Body>
aclError withStream(const char* call, aclrtStream handle, Body body) {
    return withDevice(call, [&] {
        Stream* stream = nullptr;
        aclError found = findStreamOf(call, handle, &stream);
        return found != ACL_SUCCESS ? found : body(*stream);
    });
}

}  // namespace mock::acl
