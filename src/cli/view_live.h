// SPDX-License-Identifier: Apache-2.0
// plat view --live: the page of a program that runs, served on this machine.
#pragma once

#include <string>

#include "inspect/check/symbols.h"

namespace plat::cli {

struct LiveViewOptions {
  int pid = 0;
  int port = 0;        // 0: one that is free
  double wait_s = 10;  // for an mstx call of a process that is not recorded
  bool open = true;    // the browser, where there is a desktop
  inspect::FrameFilter filter;
};

// Until the program ends, or somebody stops it.
int view_live(const LiveViewOptions& options);

// Opens an address or a file, where there is a desktop and somebody at it.
void open_in_browser(const std::string& what);

}  // namespace plat::cli
