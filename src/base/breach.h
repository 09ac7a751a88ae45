// SPDX-License-Identifier: Apache-2.0
// What the device tells a recorder that was loaded before it (libplat_inspect.so): the rule that a call
// broke. The device calls it only where it is there.
#pragma once

// `code` is what the call returns; 0: the device warns, and the call goes on. `text` begins with the name of
// the call: "aclrtMapMem(offset): offset is 3".
extern "C" void plat_inspect_hear(const char* rule, int code, const char* text);
