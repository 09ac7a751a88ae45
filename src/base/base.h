// base/: what every folder speaks in: results, errors, addresses, byte units, text.
//
// May include: the standard library, fmt, tl::expected. Never makes a system call, holds no state.
#pragma once

#include "base/result.h"
#include "base/text.h"
#include "base/units.h"
