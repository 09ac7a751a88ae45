// plat replay: runs a trace of allocations against the pool, or against a plain reference policy, on a device
// of a given size.
#pragma once

// replay [options] trace...; returns the exit code of the process.
int replay_main(int argc, char** argv);
