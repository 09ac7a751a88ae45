// os/: the only system calls of the house: files, locks, memory, processes, signals.
//
// May include: base/. Knows nothing of devices. Functions report failure as errno (0 is success) and never
// print.
#pragma once

#include "os/file.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/signal_chain.h"
