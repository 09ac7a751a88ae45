// SPDX-License-Identifier: Apache-2.0
// libascend_kernel_hook.so: a name and nothing else.
//
// The PyTorch adapter, torch_npu, tells of its pool by mstx only if a preloaded library has this file name.
// The recorder is preloaded together with this one, so that it hears of that pool too.
const char plat_inspect_gate[] = "opens the memory calls of torch_npu to the recorder of plat";
