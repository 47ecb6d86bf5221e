// For tests, loaded before a library that takes host memory only: says that it takes the memory of devices too.
extern "C" __attribute__((visibility("default"))) int MPIX_Query_cuda_support() { return 1; }
