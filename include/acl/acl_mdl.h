// Model dump. There are no models here: the calls that clients make at start-up are accepted and recorded.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Begins dump configuration.
ACL_FUNC_VISIBILITY aclError aclmdlInitDump(void);

// Names the dump configuration file.
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char* dumpCfgPath);

// Ends dump configuration.
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump(void);

#ifdef __cplusplus
}
#endif
