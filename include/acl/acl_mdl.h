// SPDX-License-Identifier: Apache-2.0
// Model dump. There are no models, and nothing is dumped: the calls that clients make at start-up are
// checked, accepted, and said to be without effect in the log at level info.
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
