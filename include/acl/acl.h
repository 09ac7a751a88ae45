// SPDX-License-Identifier: Apache-2.0
// Everything of ACL that Plat implements, in one include.
#pragma once

#include "acl_base.h"
#include "acl_data.h"
#include "acl_mdl.h"
#include "acl_rt.h"
