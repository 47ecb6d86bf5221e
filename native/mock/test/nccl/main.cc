#include "harness.h"

int main(int count, char** arguments) {
    std::vector<Case> cases;
    addRuntimeCases(cases);
    addCaptureCases(cases);
    addCollectiveCases(cases);
    addCommunicatorCases(cases);
    return Runner<ncclUniqueId>::main(count, arguments, cases,
                                      [](ncclUniqueId* id) { return ncclGetUniqueId(id) == ncclSuccess; });
}
