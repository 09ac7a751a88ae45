// SPDX-License-Identifier: Apache-2.0
// The application's own lines in the log.
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;

namespace {

device::LogLevel level_of(aclLogLevel level) {
  return level >= ACL_ERROR     ? device::LogLevel::Error
         : level == ACL_WARNING ? device::LogLevel::Warning
                                : device::LogLevel::Info;
}

std::string formatted(const char* format, va_list arguments) {
  if (format == nullptr) return "(no format)";
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return format;
  std::vector<char> text(static_cast<size_t>(length) + 1);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  return std::string(text.data(), static_cast<size_t>(length));
}

}  // namespace

extern "C" void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
                          const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  // With the first call the settings of the log are read.
  if (!acl::is_stale_child()) entry("aclAppLog", [](Runtime&) -> Result<> { return {}; });
  try {
    report::application(level_of(logLevel), {func != nullptr ? func : "", file != nullptr ? file : "", line},
                        formatted(fmt, arguments));
  } catch (const std::exception&) {  // no memory for the line: it is lost
  }
  va_end(arguments);
}
