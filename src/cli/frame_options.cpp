// SPDX-License-Identifier: Apache-2.0
#include "cli/frame_options.h"

namespace plat::cli {

void add_frame_options(Parser& app, inspect::FrameFilter& filter) {
  app.add_flag("--all-frames", filter.all,
               "Also show frames of Plat's libraries, of mstx and of system headers");
  app.add_option(
         "--hide", filter.libraries,
         "Leave out frames of this library too, such as another allocator; can be given several times")
      .type_name("LIBRARY")
      .one_value_each();
}

}  // namespace plat::cli
