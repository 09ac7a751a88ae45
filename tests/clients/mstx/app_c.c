// SPDX-License-Identifier: Apache-2.0
/* The C half of a test program: one image, two languages, one context. */
#include "clients/mstx/app.h"
#include "mstx/ms_tools_ext.h"

void mark_from_c(const char* text) { mstxMarkA(text, NULL); }
