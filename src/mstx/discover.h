// SPDX-License-Identifier: Apache-2.0
// Where tools come from when a program makes its first call.
//
//   MSTX_INJECTION_PATH=/a.so        that tool; it wins over preloaded ones. A library that does not load
//                                    leaves the field to them; one without the symbol, or that refuses,
//                                    does not
//   MSTX_INJECTION_PATH=/a.so:/b.so  each of them, and then the preloaded ones. "/a.so:" is a list too
//   (not set)                        every preloaded library with an InitInjectionMstx, and whichever one the
//                                    process finds first when it looks for the symbol
#pragma once

#include "mstx/broker_types.h"

namespace plat::mstx {

class Tools;

void attach_found_tools(Tools& tools);

// nullptr, and a line on stderr, if it does not load.
void* load_tool(const char* path);

// InitInjectionMstx of a library, unless it is our own.
mstxInitInjectionFunc find_init(void* library);

}  // namespace plat::mstx
