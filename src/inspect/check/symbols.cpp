// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <fnmatch.h>

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

// A stack has the addresses that calls return to.
uint64_t call_before(uint64_t address) { return address - 1; }

std::string last_part(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// "libfoo.so" is also libfoo.so.1, and "libfoo_*.so" libfoo_bar.so.1.
bool is_library(const std::string& module, const std::string& name) {
  return fnmatch(name.c_str(), module.c_str(), 0) == 0 ||
         fnmatch((name + ".*").c_str(), module.c_str(), 0) == 0;
}

// What stands between the program and the recorder: the recorder itself and what a sanitizer puts before the
// C library.
bool is_recorder(const std::string& module) { return is_library(module, "libplat_inspect.so"); }
bool is_between(const Frame& frame) {
  return is_recorder(frame.module) || frame.function.starts_with("__interceptor_");
}

bool is_own_library(const std::string& module) {
  static const std::array<std::string, 9> kNames = {
      "libascendcl.so", "libacl_rt.so",   "libacl_dvpp.so",     "libms_tools_ext.so",      "libplat_*.so",
      "acl.cpython-*",  "mstx.cpython-*", "_inspect.cpython-*", "libascend_kernel_hook.so"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const std::string& name) { return is_library(module, name); });
}

// Plat's own code where it was linked or inlined into the program.
bool is_own_function(const std::string& function) {
  return function.starts_with("plat::") || function.starts_with("plat_") || function.starts_with("platMstx");
}

template <size_t kCount>
bool is_below(const Frame& frame, const std::array<std::string_view, kCount>& places) {
  return frame.line != 0 && std::any_of(places.begin(), places.end(), [&](std::string_view place) {
           return frame.file.find(place) != std::string::npos;
         });
}
bool is_in_system_header(const Frame& frame) {
  static constexpr std::array<std::string_view, 3> kPlaces = {"/usr/include/", "/usr/lib/",
                                                              "/usr/local/include/"};
  return is_below(frame, kPlaces);
}
bool is_in_own_header(const Frame& frame) {
  static constexpr std::array<std::string_view, 3> kPlaces = {"/mstx_detail/", "/mstx/ms_tools_ext",
                                                              "/include/plat/"};
  return is_below(frame, kPlaces);
}

// What runs a std::thread: a function that the library keeps to itself, and a sanitizer's before it.
bool is_thread_runner(const Frame& frame) {
  return (frame.function.empty() && is_library(frame.module, "libstdc++.so")) ||
         is_library(frame.module, "libtsan.so") || is_library(frame.module, "libasan.so");
}

// What stands between a line of Python and the machine code that it calls. What it holds of Python is in the
// frames of Python.
bool is_interpreter(const std::string& module) {
  return is_library(module, "python3*") || is_library(module, "libpython3*");
}
bool is_way_out_of_python(const Frame& frame) {
  return is_library(frame.module, "_ctypes.*") || is_library(frame.module, "libffi*") ||
         is_library(frame.module, "_cffi_backend.*");
}
// Plat's package, and what the interpreter itself loads programs with.
bool is_own_python(const Frame& frame) {
  return frame.file.starts_with("<frozen ") || frame.file == "<shim>" ||
         frame.file.find("/site-packages/plat/") != std::string::npos ||
         frame.file.find("/dist-packages/plat/") != std::string::npos;
}

// What runs a program or a thread is the same for all of them. Names that a program may give to functions of
// its own are asked for in the C library alone.
bool is_below_all(const Frame& frame) {
  if (frame.function == "_start" || frame.function.starts_with("__libc_start_")) return true;
  return (frame.function == "start_thread" || frame.function.starts_with("clone")) &&
         (is_library(frame.module, "libc.so") || is_library(frame.module, "libpthread.so"));
}

// The source line from which an inlined function was called, put into the frame of its caller.
void move_to_call(Dwarf_Die& die, Dwarf_Files* files, Frame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_file, &attribute), &file) != 0) return;
  if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_line, &attribute), &line) != 0) return;
  const char* const source = dwarf_filesrc(files, file, nullptr, nullptr);
  if (source == nullptr) return;
  caller.file = source;
  caller.line = static_cast<int>(line);
}

std::string function_of(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  if (const char* const linkage =
          dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &attribute)))
    return demangle(linkage);
  const char* const name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

using Dies = std::unique_ptr<Dwarf_Die, void (*)(void*)>;

// The frames of functions that the compiler has put into others, innermost first; what is left of `frame` is
// the function that contains them all. None if the file was compiled without telling (-g1).
std::vector<Frame> take_inlined(Dwfl_Module* module, uint64_t address, Frame& frame) {
  std::vector<Frame> inlined;
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (unit == nullptr || dwarf_getsrcfiles(unit, &files, &file_count) != 0) return inlined;
  Dwarf_Die* found = nullptr;
  const int count = dwarf_getscopes(unit, address - bias, &found);
  const Dies scopes(found, std::free);
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(found + i) != DW_TAG_inlined_subroutine) continue;
    Dwarf_Die* around = nullptr;  // what contains it where it is now, not where it was written
    const int depth = dwarf_getscopes_die(found + i, &around);
    const Dies owner(around, std::free);
    for (int j = 0; j < depth; ++j) {
      if (dwarf_tag(around + j) != DW_TAG_inlined_subroutine) continue;
      inlined.push_back(frame);
      inlined.back().function = function_of(around[j]);
      move_to_call(around[j], files, frame);
    }
    break;
  }
  return inlined;
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

bool FrameFilter::hides(const Frame& frame) const {
  return !all && (hides_as_ours(frame) || is_in_system_header(frame));
}

bool FrameFilter::hides_as_ours(const Frame& frame) const {
  if (all) return false;
  if (frame.is_python()) return is_own_python(frame) || is_in_own_header(frame);
  return hides_all_of(frame.module) || is_own_function(frame.function) || is_in_own_header(frame) ||
         is_thread_runner(frame);
}

bool FrameFilter::hides_all_of(const std::string& module) const {
  return !all && (is_own_library(module) ||
                  std::any_of(libraries.begin(), libraries.end(),
                              [&](const std::string& name) { return is_library(module, name); }));
}

Symbols::Symbols(const TraceInfo& info, FrameFilter filter) : info_(info), filter_(std::move(filter)) {}
Symbols::~Symbols() = default;

std::string Symbols::file_at(uint64_t call) const {
  std::string file;
  for (const Module& module : info_.modules)
    if (call >= module.first && call < module.last) file = module.file;
  return file;
}

std::vector<Frame> Symbols::name(uint64_t address) {
  if (const auto found = known_.find(address); found != known_.end()) return found->second;
  Frame frame;
  frame.address = address;
  if (const auto told = info_.frame_names.find(address); told != info_.frame_names.end()) {
    frame.function = told->second.function;
    frame.file = told->second.file;
    frame.line = static_cast<int>(told->second.line & 0x7fffffff);
    frame.module = frame.file.empty() ? "?" : last_part(frame.file);
    return known_[address] = {frame};
  }
  const uint64_t call = call_before(address);
  frame.file = file_at(call);
  frame.module = last_part(frame.file);
  if (!files_) files_ = std::make_unique<Files>(info_);
  std::vector<Frame> inlined;
  if (Dwfl_Module* const module = files_->dwfl != nullptr ? dwfl_addrmodule(files_->dwfl, call) : nullptr) {
    if (const char* const symbol = dwfl_module_addrname(module, call)) frame.function = demangle(symbol);
    // Where the lines of the C library are installed, they are many megabytes to unpack.
    Dwfl_Line* const line = is_below_all(frame) ? nullptr : dwfl_module_getsrc(module, call);
    if (line != nullptr) {
      int number = 0;
      if (const char* const source = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)) {
        frame.file = source;
        frame.line = number;
        inlined = take_inlined(module, call, frame);
      }
    }
  }
  inlined.push_back(frame);
  return known_[address] = inlined;
}

std::vector<Frame> Symbols::frames_of(uint32_t stack) {
  const auto found = info_.stacks.find(stack);
  if (found == info_.stacks.end()) return {};
  for (const Shown which : {Shown::AsAsked, Shown::SystemHeadersToo}) {
    std::vector<Frame> shown = frames_of(found->second, which);
    if (!shown.empty()) return shown;
  }
  return frames_of(found->second, Shown::All);
}

std::vector<Frame> Symbols::frames_of(const std::vector<uint64_t>& stack, Shown which) {
  std::vector<Frame> shown;
  const bool has_python = !stack.empty() && stack.back() >= kPythonFrames;
  bool begun = false;  // past what stands between the program and the recorder
  bool ended = false;
  for (const uint64_t address : stack) {
    if (ended && address < kPythonFrames) continue;
    if (which != Shown::All && address < kPythonFrames) {
      const std::string module = last_part(file_at(call_before(address)));
      if (filter_.hides_all_of(module) && !is_interpreter(module)) {
        begun = begun || !is_recorder(module);
        continue;
      }
    }
    for (const Frame& frame : name(address)) {
      if (!begun && is_between(frame)) continue;
      // No code: frame pointers were broken.
      ended = !frame.is_python() && begun && (frame.module.empty() || is_below_all(frame));
      if (has_python && !filter_.all && !frame.is_python()) {
        if (is_way_out_of_python(frame)) continue;
        ended = ended || frame.module.empty() || is_interpreter(frame.module);
      }
      if (ended) break;
      begun = true;
      const bool is_hidden = which == Shown::AsAsked ? filter_.hides(frame)
                                                     : which != Shown::All && filter_.hides_as_ours(frame);
      if (!is_hidden) shown.push_back(frame);
    }
    if (ended && !has_python) break;
  }
  return shown;
}

uint32_t Symbols::place_of(uint32_t stack) {
  const auto [known, is_new] = places_.try_emplace(stack, stack);
  if (!is_new || stack == 0) return known->second;
  std::string shown;
  for (const Frame& frame : frames_of(stack)) shown += to_text(frame) + '\n';
  if (!shown.empty()) known->second = first_.emplace(std::move(shown), stack).first->second;
  return known->second;
}

std::string shortened(const std::string& name, size_t most) {
  if (name.size() <= most) return name;
  std::string text;
  size_t depth = 0;
  size_t left_out = 0;
  for (const char c : name) {
    const bool closes = c == ')' || c == '>';
    if (closes && depth > 0 && --depth == 0 && left_out > 0) text += "...";
    if (depth == 0) text += c;
    left_out = depth == 0 ? 0 : left_out + 1;
    if (c == '(' || c == '<') ++depth;
  }
  if (text.size() > most) text.replace(most - 3, std::string::npos, "...");
  return text;
}

std::string to_text(const Frame& frame) {
  const std::string text =
      frame.function.empty() ? fmt::format("{:#x}", frame.address) : shortened(frame.function, kFunctionMost);
  if (frame.line != 0) return fmt::format("{} at {}:{}", text, frame.file, frame.line);
  return frame.module.empty() || frame.module == "?" ? text : fmt::format("{} in {}", text, frame.module);
}

}  // namespace plat::inspect
