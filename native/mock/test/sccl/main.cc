#include "harness.h"

int main(int count, char** arguments) {
    std::vector<Case> cases;
    addRuntimeCases(cases);
    addCollectiveCases(cases);
    addStrictCases(cases);
    return Runner<scclUniqueId>::main(count, arguments, cases, [](scclUniqueId* id) {
        use(0);
        static scclHandle_t handle = scclCreateHandle(0);
        return scclGetUniqueId(handle, id) == scclSuccess;
    });
}
