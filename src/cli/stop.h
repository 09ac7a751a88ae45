// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its kin as a question: a command that has something to tidy up asks whether it should end.
#pragma once

namespace plat::cli {

// From now on SIGINT, SIGTERM and SIGHUP are kept until somebody asks, each once: the second ends the
// process, for commands that cannot get to asking because nobody reads what they write.
void keep_stop_signals();

// Whether one has come.
bool should_stop();

// Ends as the signal that came would have ended the process; returns if none came.
void end_if_stopped();

}  // namespace plat::cli
