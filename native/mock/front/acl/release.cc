// The one object that differs between the builds; MOCK_CANN is set by the build.
#include "release.h"

#if MOCK_CANN == 92
const mock::acl::Release mock::acl::release{"9.2.0", 9, 2, 0, 2248, 11, 12};
#elif MOCK_CANN == 83
const mock::acl::Release mock::acl::release{"8.3.RC1", 8, 3, 0, 312, 6, 7};
#elif MOCK_CANN == 81
const mock::acl::Release mock::acl::release{"8.1.RC1", 8, 1, 0, 300, 5, 5};
#elif MOCK_CANN == 80
const mock::acl::Release mock::acl::release{"8.0.0", 8, 0, 0, 160, 2, 3};
#endif
