// SPDX-License-Identifier: Apache-2.0
// inspect_programs NAME: a program with one mistake planted in it, or with none.
#include "inspect/program.h"

int main(int argc, char** argv) {
  programs::Programs all;
  programs::add_memory_programs(all);
  programs::add_pool_programs(all);
  programs::add_stream_programs(all);
  programs::add_race_programs(all);
  programs::add_leak_programs(all);
  programs::add_share_programs(all);
  programs::add_dialect_programs(all);
  programs::add_heard_programs(all);
  programs::add_process_programs(all);
  programs::add_managed_programs(all);
  programs::add_mbuf_programs(all);
  const auto chosen = all.find(argc > 1 ? argv[1] : "");
  if (chosen == all.end()) {
    for (const auto& [name, program] : all) std::printf("%s\n", name.c_str());
    return argc > 1 ? 98 : 0;
  }
  chosen->second();
  return 0;
}
