// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/settings.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "inspect/record/warn.h"
#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

void complain(const char* name, const char* value) {
  warn("%s=%s means nothing to the recorder; it is left at its default", name, value);
}

// The number of a variable within its limits, or the default.
uint64_t number(const char* name, uint64_t least, uint64_t most, uint64_t otherwise) {
  const char* const text = secure_getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end == '\0' && *text != '-' && value >= least && value <= most) return value;
  complain(name, text);
  return otherwise;
}

bool set_stacks(Settings& settings, const char* stacks) {
  if (std::strcmp(stacks, "none") == 0) {
    settings.stacks = Stacks::None;
  } else if (std::strcmp(stacks, "unwind") == 0) {
    settings.stacks = Stacks::Unwind;
  } else if (std::strcmp(stacks, "fp") == 0) {
    settings.stacks = Stacks::FramePointer;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Settings late_settings(const char* trace, const char* stacks) {
  Settings settings;
  std::snprintf(settings.path, sizeof settings.path, "%s", trace);
  set_stacks(settings, stacks);
  return settings;
}

Settings read_settings() {
  Settings settings;
  if (const char* const path = secure_getenv("PLAT_INSPECT_TRACE"); path != nullptr && *path != '\0')
    std::snprintf(settings.path, sizeof settings.path, "%s", path);
  if (const char* const stacks = secure_getenv("PLAT_INSPECT_STACKS"); stacks != nullptr && *stacks != '\0') {
    if (!set_stacks(settings, stacks)) complain("PLAT_INSPECT_STACKS", stacks);
  }
  settings.depth = static_cast<uint32_t>(number("PLAT_INSPECT_DEPTH", 1, kFramesMax, settings.depth));
  settings.max_bytes =
      number("PLAT_INSPECT_MAX_BYTES", kHeaderBytes + 2 * kChunkBytes, uint64_t{1} << 50, settings.max_bytes);
  return settings;
}

}  // namespace plat::inspect
