// SPDX-License-Identifier: Apache-2.0
// The two compilations of layout_checks.inc. Each returns how many result codes are wrong.
#pragma once

#ifdef __cplusplus
#define LAYOUT_CHECKS layout_checks_cpp
extern "C" {
#else
#define LAYOUT_CHECKS layout_checks_c
#endif

int layout_checks_c(void);
int layout_checks_cpp(void);

#ifdef __cplusplus
}
#endif
