// The replay as a program of its own.
#include "cli/replay.h"

int main(int argc, char** argv) { return replay_main(argc, argv); }
