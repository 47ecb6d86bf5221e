// Names, versions and limits of the whole process.
#include <cstring>
#include <string>

#include "front.h"
#include "release.h"

using namespace mock;
using namespace mock::acl;

namespace {

const char* socName() {
    const char* chip = std::getenv("MOCK_HCCL_CHIP");
    std::string name = chip == nullptr ? "A2" : chip;
    if (name == "A5") return "Ascend950PR_9589";
    if (name == "A3") return "Ascend910_9391";
    if (name == "910A") return "Ascend910A";
    if (name == "310P") return "Ascend310P3";
    return "Ascend910B3";
}

}  // namespace

MOCK_API const char* aclrtGetSocName() { return deviceCount() == 0 ? nullptr : socName(); }

MOCK_API aclError aclrtGetRunMode(aclrtRunMode* mode) {
    return withDevice("aclrtGetRunMode", [&]() -> aclError {
        if (mode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: null argument");
        *mode = ACL_HOST;
        return ACL_SUCCESS;
    });
}

MOCK_API aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
    if (major == nullptr || minor == nullptr || patch == nullptr) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetVersion: null argument");
    }
    *major = 1;
    *minor = 15;
    *patch = 0;
    return ACL_SUCCESS;
}

MOCK_API aclError aclsysGetCANNVersion(aclCANNPackageName package, aclCANNPackageVersion* version) {
    if (version == nullptr || package < ACL_PKG_NAME_CANN || package > ACL_PKG_NAME_DRIVER) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: invalid argument");
    }
    std::memset(version, 0, sizeof *version);
    std::snprintf(version->version, sizeof version->version, "%s", release.version);
    std::snprintf(version->majorVersion, sizeof version->majorVersion, "%d", release.major);
    std::snprintf(version->minorVersion, sizeof version->minorVersion, "%d", release.minor);
    std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "%d", release.patch);
    return ACL_SUCCESS;
}

MOCK_API aclError aclsysGetVersionStr(char* package, char* version) {
    if (package == nullptr || version == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionStr: null argument");
    std::memset(version, 0, 128);
    std::snprintf(version, 128, "%s", release.version);
    return ACL_SUCCESS;
}

MOCK_API aclError aclsysGetVersionNum(char* package, int32_t* number) {
    if (package == nullptr || number == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionNum: null argument");
    *number = release.major * 10000000 + release.minor * 100000 + release.patch * 1000;
    return ACL_SUCCESS;
}

MOCK_API aclError aclrtSetOpExecuteTimeOut(uint32_t) {
    return withDevice("aclrtSetOpExecuteTimeOut", [] { return aclError{ACL_SUCCESS}; });
}
