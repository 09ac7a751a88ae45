// SPDX-License-Identifier: Apache-2.0
// libascendcl.so of somebody else: the rest of its calls are in another library, as the vendor's are.
int aclInit(const char* path) { return path == 0 ? 0 : 990002; }
int aclFinalize(void) { return 0; }
