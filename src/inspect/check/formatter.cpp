// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/formatter.h"

#include <fmt/format.h>

#include "base/text.h"

namespace plat::inspect {

namespace {

Json hex(uint64_t value) { return fmt::format("{:#x}", value); }

Json to_json(const Related& related, Symbols& symbols) {
  Json json{{"role", related.role}, {"kind", name_of(related.kind)}, {"address", hex(related.start)}};
  if (related.size != 0) json["bytes"] = related.size;
  if (!related.name.empty()) json["name"] = related.name;
  json[related.role == "used by" ? "used" : "allocated"] = to_json(related.born, symbols);
  if (related.died.event != 0) json["freed"] = to_json(related.died, symbols);
  return json;
}

void print_frames(std::string& text, const Json& site, size_t limit) {
  const Json& frames = site["stack"];
  for (size_t i = 0; i < frames.size() && i < limit; ++i)
    text += fmt::format("      #{} {}\n", i, visible(frames[i]["text"].get<std::string>()));
}

void print_site(std::string& text, const char* what, const Json& site, size_t limit) {
  text +=
      fmt::format("    {} by {} (event {}, thread {}, {:.3f} ms)\n", what, site["call"].get<std::string>(),
                  site["event"].get<uint64_t>(), site["thread"].get<uint32_t>(),
                  static_cast<double>(site["time_ns"].get<uint64_t>()) / 1e6);
  print_frames(text, site, limit);
}

}  // namespace

Json to_json(const Site& site, Symbols& symbols, const std::string& call) {
  Json json{{"event", site.event},
            {"time_ns", site.time_ns},
            {"thread", site.thread},
            {"call", call.empty() ? std::string(info_of(site.op).name) : call}};
  json["stack"] = Json::array();
  for (const Frame& frame : symbols.frames_of(site.stack)) {
    Json one{{"text", to_text(frame)}, {"function", frame.function}, {"address", hex(frame.address)}};
    if (frame.line != 0) {
      one["file"] = frame.file;
      one["line"] = frame.line;
    } else if (!frame.module.empty()) {
      one["module"] = frame.module;
    }
    json["stack"].push_back(std::move(one));
  }
  return json;
}

Json to_json(const FailedCall& call, Symbols& symbols) {
  Json json{{"failed_call", call.name}, {"result", call.result}, {"count", call.count}};
  if (call.rule != nullptr) {
    json["broken_rule"] = call.rule->name;
    json["detail"] = call.detail;
    json["hint"] = call.rule->fix;
  }
  json["site"] = to_json(call.first, symbols, call.name);
  return json;
}

std::string failed_call_text(const Json& call, size_t frames) {
  const auto count = call["count"].get<uint64_t>();
  std::string text = fmt::format("failed: {} returned {}", call["failed_call"].get<std::string>(),
                                 call["result"].get<int>());
  if (call.contains("broken_rule"))
    text += fmt::format(": {}: {}", call["broken_rule"].get<std::string>(),
                        visible(call["detail"].get<std::string>()));
  text += count > 1 ? fmt::format("  [{} times]\n", count) : "\n";
  print_site(text, count > 1 ? "first made" : "made", call["site"], frames);
  return text;
}

Json to_json(const Finding& finding, Symbols& symbols) {
  const rules::Rule& rule = rules::get(finding.rule);
  Json json{{"rule", rule.name},        {"severity", rules::to_text(finding.severity())},
            {"detail", finding.detail}, {"sentence", rule.sentence},
            {"cause", rule.cause},      {"hint", rule.fix},
            {"count", finding.count}};
  if (*finding.certainty != 0) json["certainty"] = finding.certainty;
  if (finding.bytes != 0) json["bytes_together"] = finding.bytes;
  if (finding.address != 0) json["address"] = hex(finding.address);
  if (finding.size != 0) json["bytes"] = finding.size;
  if (finding.result != 0) json["result"] = finding.result;
  if (finding.on_stream) json["stream"] = hex(finding.stream);
  if (finding.site.event != 0) json["site"] = to_json(finding.site, symbols, finding.call);
  json["objects"] = Json::array();
  for (const Related& related : finding.related) json["objects"].push_back(to_json(related, symbols));
  if (finding.pid != 0) json["pid"] = finding.pid;
  if (!finding.program.empty()) json["program"] = finding.program;
  return json;
}

std::string to_text(const Json& finding, size_t frames) {
  std::string text =
      fmt::format("{}: {}: {}", finding["severity"].get<std::string>(), finding["rule"].get<std::string>(),
                  visible(finding["detail"].get<std::string>()));
  const auto count = finding["count"].get<uint64_t>();
  if (count > 1) {
    text += fmt::format("  [{} times", count);
    if (finding.contains("bytes_together"))
      text += fmt::format(", {} together", format_bytes(finding["bytes_together"].get<uint64_t>()));
    text += "]";
  }
  text += '\n';
  const bool is_leak = finding["rule"].get<std::string>().starts_with("INSP-Leak-");
  if (finding.contains("site") && !is_leak) {
    print_site(text, "found", finding["site"], frames);
    if (finding.contains("stream"))
      text += fmt::format("    on stream {}\n", finding["stream"].get<std::string>());
    if (finding.contains("result"))
      text += fmt::format("    the device refused the call: {}\n", finding["result"].get<int>());
  }
  for (const Json& object : finding["objects"]) {
    const std::string name =
        object.contains("name") ? " '" + visible(object["name"].get<std::string>()) + "'" : "";
    text += fmt::format("  {}: {}{} at {}", object["role"].get<std::string>(),
                        object["kind"].get<std::string>(), name, object["address"].get<std::string>());
    if (object.contains("bytes")) text += fmt::format(", {}", format_bytes(object["bytes"].get<uint64_t>()));
    text += '\n';
    if (object.contains("allocated")) print_site(text, "allocated", object["allocated"], frames);
    if (object.contains("used")) print_site(text, "used", object["used"], frames);
    if (object.contains("freed") && !is_leak) print_site(text, "given back", object["freed"], frames);
  }
  text +=
      fmt::format("  {} {}\n", finding["sentence"].get<std::string>(), finding["hint"].get<std::string>());
  return text;
}

std::string process_of(const Json& finding) {
  return fmt::format("{}: {}", finding.value("pid", 0), visible(finding.value("program", std::string())));
}

std::string to_line(const Json& json) {
  return visible_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace plat::inspect
