// libcuda.so.1: its presence is what matters; the runtime library answers everything else.
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int cuInit(unsigned int flags) { return flags == 0 ? 0 : 1; }

extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
    if (version == nullptr) return 1;
    const char* text = std::getenv("MOCK_RUNTIME_VERSION");
    *version = text == nullptr ? 13010 : std::atoi(text);
    return 0;
}
