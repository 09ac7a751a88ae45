// SPDX-License-Identifier: Apache-2.0
#include "inspect/import/open.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include "base/text.h"
#include "inspect/import/imported.h"
#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

constexpr uint64_t kUnpackedMax = uint64_t{4} << 30;

Source source_of_content(std::string content) {
  const auto owner = std::make_shared<const std::string>(std::move(content));
  Source source = source_of_bytes(reinterpret_cast<const uint8_t*>(owner->data()), owner->size());
  source.read = [owner, read = std::move(source.read)](void* target, uint64_t offset, size_t size) {
    return read(target, offset, size);
  };
  return source;
}

bool is_trace(const std::string& content) {
  return content.size() >= sizeof kMagic && std::memcmp(content.data(), kMagic, sizeof kMagic) == 0;
}

}  // namespace

bool read_whole_file(const std::string& path, std::string& content, std::string& why, uint64_t unpacked_max) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return why = "it is a directory", false;
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  if (file == nullptr) return why = fmt::format("cannot be opened: {}", std::strerror(errno)), false;
  const bool packed = gzdirect(file) == 0;
  std::vector<char> buffer(1u << 20);
  int got = 0;
  while ((got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    content.append(buffer.data(), static_cast<size_t>(got));
    if (packed && content.size() > unpacked_max) break;
  }
  gzclose(file);
  if (got > 0)
    why = fmt::format("unpacks to more than {}", format_bytes(unpacked_max));
  else if (got < 0)
    why = "is damaged";
  else if (content.empty())
    why = "it is empty";
  return got == 0 && !content.empty();
}

std::optional<Source> open_any(const std::string& path, std::string& problem) {
  // Traces are read where they are, a few chunks at a time.
  std::array<char, sizeof kMagic> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  const std::string first(start.data(), start.size());
  const bool is_packed = first.starts_with("\x1f\x8b");
  if (!is_packed && !is_importable(first + std::string(16, '\0')) && !first.starts_with("SQLite f"))
    return source_of_file(path, problem);
  try {
    std::string content;
    if (!read_whole_file(path, content, problem, kUnpackedMax)) return std::nullopt;
    if (is_trace(content)) return source_of_content(std::move(content));
    if (!is_importable(content)) return problem = "it is not a trace of plat record", std::nullopt;
    const auto imported = read_import(content, problem);
    if (!imported) return std::nullopt;
    return source_of_content(to_trace(*imported, path));
  } catch (const std::bad_alloc&) {
    problem = "is too large for the memory that is left";
    return std::nullopt;
  }
}

}  // namespace plat::inspect
