// The public types, without the header-only calls: this folder is what they call.
#pragma once

#define MSTX_NO_IMPL
#define MSTX_DECLSPEC __attribute__((visibility("default")))

#include "mstx/ms_tools_ext.h"
#include "plat/mstx_ext.h"
