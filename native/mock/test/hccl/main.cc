#include "harness.h"

int main(int count, char** arguments) {
    std::vector<Case> cases;
    addRuntimeCases(cases);
    addCollectiveCases(cases);
    addCommunicatorCases(cases);
    addReleaseCases(cases);
    addChipCases(cases);
    return Runner<HcclRootInfo>::main(count, arguments, cases, [](HcclRootInfo* id) {
        use(0);
        return HcclGetRootInfo(id) == HCCL_SUCCESS;
    });
}
