// device/: what a device is: the product it plays, its capacity, the ledger that processes share, recovery,
// and how errors are reported.
//
// May include: base, os, core, rules. Knows nothing of address ranges or mappings.
#pragma once

#include "device/bank.h"
#include "device/config.h"
#include "device/node.h"
#include "device/product.h"
#include "device/report.h"
