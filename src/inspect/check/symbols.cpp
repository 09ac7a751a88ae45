#include "inspect/check/symbols.h"

#include <cxxabi.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace plat::inspect {

namespace {

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : name;
}

std::string last_part(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// What stands between the program and the recorder.
bool is_between(const Frame& frame) {
  static constexpr std::array names = {"libplat_inspect.so", "libms_tools_ext.so"};
  return std::find(names.begin(), names.end(), frame.module) != names.end();
}

}  // namespace

// The files are opened where they are now, at the addresses that they had in the program.
struct Symbols::Files {
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;

  explicit Files(const TraceInfo& info) {
    callbacks.find_elf = dwfl_build_id_find_elf;
    callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
    dwfl = dwfl_begin(&callbacks);
    if (dwfl == nullptr) return;
    dwfl_report_begin(dwfl);
    for (const Module& module : info.modules)
      if (std::filesystem::is_regular_file(module.file))
        dwfl_report_elf(dwfl, last_part(module.file).c_str(), module.file.c_str(), -1, module.load, false);
    dwfl_report_end(dwfl, nullptr, nullptr);
  }
  ~Files() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
};

Symbols::Symbols(const TraceInfo& info) : info_(info) {}
Symbols::~Symbols() = default;

Frame Symbols::name(uint64_t address) {
  if (const auto found = known_.find(address); found != known_.end()) return found->second;
  Frame frame;
  frame.address = address;
  const uint64_t call = address - 1;  // the address is where the call returns to
  for (const Module& module : info_.modules)
    if (call >= module.first && call < module.last) frame.file = module.file;
  frame.module = last_part(frame.file);
  if (!files_) files_ = std::make_unique<Files>(info_);
  if (Dwfl_Module* const module = files_->dwfl != nullptr ? dwfl_addrmodule(files_->dwfl, call) : nullptr) {
    if (const char* const symbol = dwfl_module_addrname(module, call)) frame.function = demangle(symbol);
    if (Dwfl_Line* const line = dwfl_module_getsrc(module, call)) {
      int number = 0;
      if (const char* const source = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)) {
        frame.file = source;
        frame.line = number;
      }
    }
  }
  return known_[address] = frame;
}

std::vector<Frame> Symbols::frames_of(uint32_t stack) {
  std::vector<Frame> frames;
  const auto found = info_.stacks.find(stack);
  if (found == info_.stacks.end()) return frames;
  bool outside = false;
  for (const uint64_t address : found->second) {
    Frame frame = name(address);
    outside = outside || !is_between(frame);
    if (frame.module.empty() && !frames.empty()) break;  // not code: the chain of frame pointers was broken
    if (outside) frames.push_back(std::move(frame));
  }
  return frames;
}

std::string to_text(const Frame& frame) {
  constexpr size_t kNameMax = 100;  // names of templates go on for lines
  std::string text = frame.function.empty() ? fmt::format("{:#x}", frame.address) : frame.function;
  if (text.size() > kNameMax) text = text.substr(0, kNameMax - 3) + "...";
  if (frame.line != 0) return fmt::format("{} at {}:{}", text, frame.file, frame.line);
  return frame.module.empty() ? text : fmt::format("{} in {}", text, frame.module);
}

}  // namespace plat::inspect
