// SPDX-License-Identifier: Apache-2.0
// Regions that pools register through mstx, held against the rules for segments of a block.
//
// The library learns of them as any tool does: it attaches itself to libms_tools_ext.so, and only where the
// user has these rules checked (PLAT_CHECK=secondary).
#pragma once

namespace plat::acl {

// Attaches, once; does nothing while the rules are off, or where there is no libms_tools_ext.so.
void listen_to_regions();

}  // namespace plat::acl
