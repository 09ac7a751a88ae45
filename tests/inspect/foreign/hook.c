// SPDX-License-Identifier: Apache-2.0
// A library of the name that torch_npu looks for, with a life of its own.
int foreign_hook(void) { return 1; }
