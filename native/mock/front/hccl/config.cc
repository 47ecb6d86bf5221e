// The structs a caller hands over, checked as the release the mock stands for does.
#include <algorithm>
#include <cstring>

#include "../acl/release.h"
#include "front.h"
#include "support.h"

namespace mock::hccl {

namespace {

HcclCommConfig defaults() {
    HcclCommConfig config{};
    config.hcclBufferSize = 200;
    config.hcclDeterministic = 0;
    config.hcclRdmaTrafficClass = HCCL_NOT_SET;
    config.hcclRdmaServiceLevel = HCCL_NOT_SET;
    config.hcclExecTimeOut = -1;
    config.hcclQos = HCCL_NOT_SET;
    config.hcclSymWinMaxMemSizePerRank = 16;
    config.hcclChannelSqDepth = HCCL_NOT_SET;
    return config;
}

template <size_t n>
bool isTerminated(const char (&text)[n]) {
    return std::memchr(text, 0, n) != nullptr;
}

HcclResult checkBuffers(const char* call, const HcclCommConfig& config) {
    bool mayBeUnset = acl::release.capability > HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV;
    if (config.hcclBufferSize == 0) return fail(HCCL_E_PARA, "%s: hcclBufferSize is 0", call);
    if (config.hcclBufferSize == HCCL_NOT_SET && !mayBeUnset) {
        return fail(HCCL_E_MEMORY, "%s: this release takes 0xFFFFFFFF for a size in megabytes", call);
    }
    uint32_t strictest = acl::release.capability > HCCL_COMM_CONFIG_WORLD_RANKID ? 2 : 1;
    // Before 8.2.RC1 HCCL takes 0xFFFFFFFF here, but is known to go astray with it.
    bool knowsUnset = acl::release.major > 8 || (acl::release.major == 8 && acl::release.minor >= 2);
    bool unset = config.hcclDeterministic == HCCL_NOT_SET && knowsUnset;
    if (!unset && config.hcclDeterministic > strictest) {
        return fail(HCCL_E_PARA, "%s: hcclDeterministic is %u", call, config.hcclDeterministic);
    }
    return HCCL_SUCCESS;
}

HcclResult checkNetwork(const char* call, const HcclCommConfig& config) {
    uint32_t traffic = config.hcclRdmaTrafficClass;
    if (traffic != HCCL_NOT_SET && (traffic > 255 || traffic % 4 != 0)) {
        return fail(HCCL_E_PARA, "%s: hcclRdmaTrafficClass is %u", call, traffic);
    }
    if (config.hcclRdmaServiceLevel != HCCL_NOT_SET && config.hcclRdmaServiceLevel > 7) {
        return fail(HCCL_E_PARA, "%s: hcclRdmaServiceLevel is %u", call, config.hcclRdmaServiceLevel);
    }
    return HCCL_SUCCESS;
}

HcclResult checkLate(const char* call, const HcclCommConfig& config) {
    if (config.version >= 7 && config.aclGraphZeroCopyEnable > 1) {
        return fail(HCCL_E_PARA, "%s: aclGraphZeroCopyEnable is %u", call, config.aclGraphZeroCopyEnable);
    }
    if (config.version >= 8 && (!isTerminated(config.hcclAlgo) || !isTerminated(config.hcclRetryEnable) ||
                                !isTerminated(config.hcclRetryParams))) {
        return fail(HCCL_E_PARA, "%s: a text does not end", call);
    }
    if (config.version >= 9 && !isTerminated(config.hcclBufferName)) {
        return fail(HCCL_E_PARA, "%s: hcclBufferName does not end", call);
    }
    if (config.version >= 10 && config.hcclQos != HCCL_NOT_SET && config.hcclQos > 7) {
        return fail(HCCL_E_PARA, "%s: hcclQos is %u", call, config.hcclQos);
    }
    return HCCL_SUCCESS;
}

}  // namespace

HcclResult readConfig(const char* call, const HcclCommConfig* config, Options* options) {
    options->bufferMegabytes = static_cast<uint32_t>(setting("HCCL_BUFFSIZE", 200));
    if (config == nullptr) return HCCL_SUCCESS;
    // Less than the first version has is no struct of any release.
    if (config->size < 32 || config->size > sizeof(HcclCommConfig)) {
        return fail(HCCL_E_PARA, "%s: config of %zu bytes", call, config->size);
    }
    HcclCommConfig own = defaults();
    std::memcpy(&own, config, std::min<size_t>(config->size, acl::release.configSize));
    if (own.magic != HCCL_COMM_CONFIG_MAGIC_WORD) return fail(HCCL_E_PARA, "%s: magic word is 0x%x", call, own.magic);
    if (own.version < 1 || own.version > 11) return fail(HCCL_E_PARA, "%s: config version %u", call, own.version);
    if (own.reserved != 0) return fail(HCCL_E_PARA, "%s: reserved header bytes are not 0", call);
    HcclResult checked = checkBuffers(call, own);
    // The path of this chip reads these from the caller's memory, whatever size and version say.
    if (checked == HCCL_SUCCESS && chip() == Chip::A5) {
        checked = config->hcclOpExpansionMode > 6 ? fail(HCCL_E_PARA, "%s: fields beyond the version are not set", call)
                                                  : checkNetwork(call, *config);
    }
    if (checked == HCCL_SUCCESS && own.version >= 5) checked = checkNetwork(call, own);
    if (checked == HCCL_SUCCESS) checked = checkLate(call, own);
    if (checked != HCCL_SUCCESS) return checked;
    if (own.hcclBufferSize != HCCL_NOT_SET) options->bufferMegabytes = own.hcclBufferSize;
    if (own.version >= 2) {
        if (!isTerminated(own.hcclCommName)) return fail(HCCL_E_PARA, "%s: hcclCommName does not end", call);
        options->name = own.hcclCommName;
    }
    if (own.version >= 3 && !isTerminated(own.hcclUdi)) return fail(HCCL_E_PARA, "%s: hcclUdi does not end", call);
    return HCCL_SUCCESS;
}

}  // namespace mock::hccl
