// SPDX-License-Identifier: Apache-2.0
// What all of ACL speaks in, under the name that newer toolkits give the part of the runtime.
#pragma once

#include "acl_base.h"
#include "acl_data.h"
