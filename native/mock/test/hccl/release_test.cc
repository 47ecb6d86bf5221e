// Older releases, loaded as a binding loads them.
#include <dlfcn.h>

#include "harness.h"

namespace {

/** One release's two libraries. */
struct Release {
    void* acl;
    void* hccl;

    explicit Release(const std::string& directory) {
        std::string path = std::string(std::getenv("MOCK_LIBRARIES")) + "/" + directory;
        acl = dlopen((path + "/libascendcl.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        hccl = dlopen((path + "/libhccl.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        if (acl == nullptr || hccl == nullptr) std::fprintf(stderr, "%s\n", dlerror());
        CHECK(acl != nullptr && hccl != nullptr);
    }

    bool has(const char* name) const { return dlsym(acl, name) != nullptr || dlsym(hccl, name) != nullptr; }
    uint32_t capability() const {
        return reinterpret_cast<uint32_t (*)()>(dlsym(hccl, "HcclGetCommConfigCapability"))();
    }
};

void newest(const Context&) {
    Release release("");
    CHECK(release.has("aclrtSetDevice") && release.has("HcclAllReduce") && release.has("HcclGroupStart"));
    CHECK(release.capability() == 12);
    CHECK(!release.has("HcclCommConfigInit") && !release.has("HcclCommAbort") && !release.has("HcclGather"));
}

void release83(const Context&) {
    Release release("cann-8.3");
    CHECK(release.has("HcclAllGatherV") && release.has("aclsysGetCANNVersion") && release.capability() == 7);
    CHECK(!release.has("HcclGroupStart") && dlsym(release.acl, "aclrtStreamAbort") == nullptr);
}

void release81(const Context&) {
    Release release("cann-8.1");
    CHECK(release.has("HcclAllGatherV") && release.has("aclsysGetCANNVersion") && release.capability() == 5);
    CHECK(!release.has("HcclCommWorkingDevNicSet"));
}

void release80(const Context&) {
    Release release("cann-8.0");
    CHECK(release.has("HcclCreateSubCommConfig") && release.has("HcclScatter") && release.capability() == 3);
    CHECK(!release.has("HcclAllGatherV") && !release.has("aclsysGetCANNVersion"));
}

void release79(const Context&) {
    Release release("cann-8.0.RC2");
    CHECK(release.has("HcclCommInitRootInfoConfig") && release.has("aclrtCreateEventExWithFlag"));
    CHECK(!release.has("HcclGetCommConfigCapability") && !release.has("HcclCreateSubCommConfig"));
}

void release70(const Context&) {
    Release release("cann-7.0");
    CHECK(release.has("HcclCommInitRootInfo") && release.has("HcclAlltoAllV") &&
          release.has("aclrtCreateEventWithFlag"));
    CHECK(!release.has("HcclCommInitRootInfoConfig") && !release.has("HcclGetCommAsyncError"));
    CHECK(!release.has("HcclScatter") && !release.has("HcclGetErrorString") &&
          !release.has("aclrtCreateEventExWithFlag"));
}

/** The first release with configurations takes exactly its own. */
void strictConfig(const Context&) {
    Release release("cann-8.0.RC2");
    auto rootInfo = reinterpret_cast<decltype(&HcclGetRootInfo)>(dlsym(release.hccl, "HcclGetRootInfo"));
    auto create =
        reinterpret_cast<decltype(&HcclCommInitRootInfoConfig)>(dlsym(release.hccl, "HcclCommInitRootInfoConfig"));
    // Its runtime is the one this program is linked with.
    use(0);
    HcclRootInfo info;
    OK(rootInfo(&info));
    HcclComm comm = nullptr;
    HcclCommConfig config = newConfig(160, 2);
    EXPECT(HCCL_E_PARA, create(1, &info, 0, &config, &comm));
    config = newConfig(32, 1);
    config.hcclBufferSize = HCCL_NOT_SET;
    EXPECT(HCCL_E_MEMORY, create(1, &info, 0, &config, &comm));
    config = newConfig(32, 1);
    OK(create(1, &info, 0, &config, &comm));
}

/** It takes 0xFFFFFFFF for the size of buffers, but not for determinism. */
void determinism81(const Context&) {
    Release release("cann-8.1");
    auto rootInfo = reinterpret_cast<decltype(&HcclGetRootInfo)>(dlsym(release.hccl, "HcclGetRootInfo"));
    auto create =
        reinterpret_cast<decltype(&HcclCommInitRootInfoConfig)>(dlsym(release.hccl, "HcclCommInitRootInfoConfig"));
    use(0);
    HcclRootInfo info;
    OK(rootInfo(&info));
    HcclComm comm = nullptr;
    HcclCommConfig config = newConfig(32, 1);
    config.hcclBufferSize = HCCL_NOT_SET;
    for (uint32_t wrong : {HCCL_NOT_SET, 2u}) {
        config.hcclDeterministic = wrong;
        EXPECT(HCCL_E_PARA, create(1, &info, 0, &config, &comm));
    }
    config.hcclDeterministic = 1;
    OK(create(1, &info, 0, &config, &comm));
}

}  // namespace

void addReleaseCases(std::vector<Case>& cases) {
    cases.push_back({"newest release", 1, {}, newest});
    cases.push_back({"release 8.3", 1, {}, release83});
    cases.push_back({"release 8.1", 1, {}, release81});
    cases.push_back({"determinism before 8.2", 1, {}, determinism81});
    cases.push_back({"release 8.0", 1, {}, release80});
    cases.push_back({"release 8.0.RC2", 1, {}, release79});
    cases.push_back({"release 7.0", 1, {}, release70});
    cases.push_back({"strict configuration", 1, {}, strictConfig});
}
