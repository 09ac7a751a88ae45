// SPDX-License-Identifier: Apache-2.0
/* What the test programs share between their images. */
#ifndef TESTS_CLIENTS_MSTX_APP_H
#define TESTS_CLIENTS_MSTX_APP_H

#ifdef __cplusplus
extern "C" {
#endif

/* A mark from a C file of the same image. */
void mark_from_c(const char* text);

#ifdef __cplusplus
}
#endif

#endif
