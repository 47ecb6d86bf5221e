// The one object that differs between the builds of the library; the build sets the number.
#include "front.h"

const int mock::nccl::builtVersion = MOCK_NCCL_BUILT_VERSION;
