// SPDX-License-Identifier: Apache-2.0
// What nearly every file of the house includes, parsed once for all of them (plat_precompile in
// cmake/plat.cmake). No file relies on it: each still includes what it uses, so that the build without
// precompiled headers is the same.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <vector>
