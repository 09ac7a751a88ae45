// SPDX-License-Identifier: Apache-2.0
#include "cli/page.h"

#include <fmt/format.h>

#include "cli/check_traces.h"
#include "cli/progress.h"
#include "inspect/import/open.h"
#include "inspect/view/pack.h"

namespace plat::cli {

// web/, as the build has joined it and put it into the program, in pieces; nullptr ends them.
extern const char* const kPage[];
extern const char kLiveScript[];

namespace {

std::string base64_of(const std::string& bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kLetters[three >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string page_around(const std::string& data) {
  static constexpr std::string_view kPlace = "<!--DATA-->";
  std::string page;
  for (const char* const* piece = kPage; *piece != nullptr; ++piece) page += *piece;
  return page.replace(page.find(kPlace), kPlace.size(), data);
}

}  // namespace

std::string page_data(const inspect::History& history, const std::string& title,
                      const inspect::FrameFilter& filter, const std::vector<inspect::Finding>& findings,
                      std::vector<inspect::FailedCall> failed_calls, std::vector<std::string> notes) {
  inspect::Symbols symbols(history.info, filter);
  inspect::NamedStacks stacks(symbols);
  return inspect::pack_page_data({history, title, findings, std::move(failed_calls), std::move(notes)},
                                 stacks, symbols);
}

std::optional<std::string> page_data(const std::string& path, const inspect::FrameFilter& filter,
                                     inspect::Needs needs, std::string& problem) {
  auto source = inspect::open_any(path, problem);
  Progress progress("reading " + path);
  if (source) source = watched(*source, progress, 4);
  const auto history = source ? inspect::read_history(*source, problem, needs, filter) : std::nullopt;
  auto reader = history ? inspect::Reader::open(*source, problem) : std::nullopt;
  if (!reader) return std::nullopt;
  const std::string title = fmt::format("{} (pid {})", path, history->info.pid);
  if (history->info.imported) return page_data(*history, path, filter, {}, {}, {});  // nothing to judge by
  CheckAnswer answer;
  inspect::Symbols symbols(reader->info(), filter);
  const auto checker = check_reader(*reader, symbols, {}, answer);
  return page_data(*history, title, filter, checker->findings(), checker->failed_calls(), answer.notes);
}

std::string page_with(const std::vector<std::string>& packed) {
  std::string data;
  for (const std::string& one : packed)
    data += "<script class=\"data\" type=\"text/plain\">" + base64_of(one) + "</script>\n";
  return page_around(data);
}

std::string live_page(const std::string& token) {
  return page_around(fmt::format(
      "<script id=\"live\" type=\"application/json\">{{\"token\":\"{}\"}}</script>\n<script>\n{}</script>",
      token, kLiveScript));
}

}  // namespace plat::cli
