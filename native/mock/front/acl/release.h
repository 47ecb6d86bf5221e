// What differs between the CANN releases the mock can be; the build chooses one for both libraries.
#pragma once
#include <cstdint>

namespace mock::acl {

struct Release {
    const char* version;
    int major;
    int minor;
    int patch;
    /** Of HcclCommConfig, as this release knows it. */
    uint32_t configSize;
    uint32_t configVersion;
    /** HcclGetCommConfigCapability's answer. */
    uint32_t capability;
};

extern const Release release;

}  // namespace mock::acl
