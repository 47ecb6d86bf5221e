// The runtime engine's own result codes; each vendor front maps them to its numbers.
#pragma once

namespace mock {

enum class Status : int {
    Ok,
    InvalidValue,
    OutOfMemory,
    InvalidDevice,
    InvalidHandle,
    NotReady,
    NotPermitted,
    InvalidFunction,
    CaptureUnsupported,
    CaptureInvalidated,
    CaptureMerge,
    CaptureUnmatched,
    CaptureUnjoined,
    CaptureIsolation,
    CaptureImplicit,
    CapturedEvent,
    CaptureWrongThread,
    AlreadyRegistered,
    NotRegistered,
    Injected,
    Broken,
};

}  // namespace mock
