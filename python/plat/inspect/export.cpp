// SPDX-License-Identifier: Apache-2.0
#include "export.h"

#include <stdexcept>

#include "inspect/export/export.h"

namespace plat::inspect_python {

std::string export_trace(const std::string& trace, const std::string& format) {
  std::string problem;
  const auto source = inspect::source_of_file(trace, problem);
  const auto history = source ? inspect::read_history(*source, problem) : std::nullopt;
  if (!history) throw std::runtime_error(trace + ": " + problem);
  inspect::Symbols symbols(history->info);
  inspect::NamedStacks stacks(symbols);
  if (format == "snapshot") return inspect::to_snapshot(*history, stacks);
  if (format == "perfetto") return inspect::to_perfetto(*history, stacks);
  throw std::runtime_error("there is no format " + format);
}

}  // namespace plat::inspect_python
