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
