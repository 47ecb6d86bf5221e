// The one object that differs between the runtimes of CUDA 12 and 13; the build sets the number.
#include "guard.h"

const int mock::cuda::runtimeVersion = MOCK_CUDART_VERSION;
