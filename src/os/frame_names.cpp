// SPDX-License-Identifier: Apache-2.0
#include "os/frame_names.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

// There when the program is built with ThreadSanitizer.
extern "C" [[gnu::weak]] void __tsan_init();

namespace plat::os {

namespace {

// The part of libdw's interface that is used here.
struct DwCallbacks {
  void* find_elf;
  void* find_debuginfo;
  void* section_address;
  char** debuginfo_path;
};
struct Dw {
  void* (*begin)(const DwCallbacks*);
  void (*end)(void*);
  int (*report)(void*, pid_t);
  int (*report_end)(void*, void*, void*);
  void* (*module_at)(void*, uint64_t);
  const char* (*name_at)(void*, uint64_t);
  void* (*line_at)(void*, uint64_t);
  const char* (*line_info)(void*, uint64_t*, int*, int*, uint64_t*, uint64_t*);
  DwCallbacks callbacks;
};

// nothing if the library is not there, or is another.
std::unique_ptr<Dw> open_libdw() {
  void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  bool whole = true;
  const auto find = [&](auto& function, const char* name) {
    void* const symbol = dlsym(library, name);
    whole &= symbol != nullptr;
    std::memcpy(&function, &symbol, sizeof symbol);
  };
  auto dw = std::make_unique<Dw>();
  find(dw->begin, "dwfl_begin");
  find(dw->end, "dwfl_end");
  find(dw->report, "dwfl_linux_proc_report");
  find(dw->report_end, "dwfl_report_end");
  find(dw->module_at, "dwfl_addrmodule");
  find(dw->name_at, "dwfl_module_addrname");
  find(dw->line_at, "dwfl_module_getsrc");
  find(dw->line_info, "dwfl_lineinfo");
  find(dw->callbacks.find_elf, "dwfl_linux_proc_find_elf");
  find(dw->callbacks.find_debuginfo, "dwfl_standard_find_debuginfo");
  dw->callbacks.section_address = nullptr;
  dw->callbacks.debuginfo_path = nullptr;
  return whole ? std::move(dw) : nullptr;
}

// Lines of this process as it is now.
class Lines {
 public:
  Lines() : dw_(open_libdw()) {
    if (!dw_) return;
    session_ = dw_->begin(&dw_->callbacks);
    if (session_ == nullptr) return;
    if (dw_->report(session_, getpid()) == 0) dw_->report_end(session_, nullptr, nullptr);
  }
  ~Lines() {
    if (session_ != nullptr) dw_->end(session_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // The function's name as the linker has it, also of one that is not exported; nothing if nobody knows.
  const char* name_at(uint64_t address) const {
    void* const module = module_at(address);
    return module != nullptr ? dw_->name_at(module, address) : nullptr;
  }
  // "train.cpp:11"; "" if nobody knows.
  std::string line_at(uint64_t address) const {
    void* const module = module_at(address);
    void* const line = module != nullptr ? dw_->line_at(module, address) : nullptr;
    int number = 0;
    const char* const file =
        line != nullptr ? dw_->line_info(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
    return file != nullptr ? fmt::format("{}:{}", file, number) : "";
  }

 private:
  void* module_at(uint64_t address) const {
    return session_ != nullptr ? dw_->module_at(session_, address) : nullptr;
  }

  std::unique_ptr<Dw> dw_;
  void* session_ = nullptr;
};

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : name;
}

void* image_of(void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Of our library, unless it was built into the program.
bool is_own(void* frame) {
  static void* const own = image_of(reinterpret_cast<void*>(&name_frames));
  static void* const program = image_of(reinterpret_cast<void*>(getauxval(AT_PHDR)));
  return own != program && image_of(frame) == own;
}

// Where our library called out last before the program's own frames begin; a frame without a name that
// follows it is how the system calls a handler.
std::span<void* const> without_own(std::span<void* const> frames) {
  // A sanitizer's own backtrace() begins with itself.
  size_t first = frames.size() > 1 && is_own(frames[1]) ? 1 : 0;
  while (first < frames.size() && is_own(frames[first])) ++first;
  if (first == frames.size()) return frames;
  Dl_info info{};
  if (first > 0 && first + 1 < frames.size() && dladdr(frames[first], &info) != 0 &&
      info.dli_sname == nullptr && info.dli_fname != nullptr &&
      std::strstr(info.dli_fname, "libc.so") != nullptr)
    ++first;
  return frames.subspan(first);
}

std::string describe(void* frame, const Lines& lines) {
  const uint64_t call = reinterpret_cast<uint64_t>(frame) - 1;  // the address is where the call returns to
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(call), &info) != 0;
  const char* symbol = lines.name_at(call);
  if (symbol == nullptr && known) symbol = info.dli_sname;
  std::string name = symbol != nullptr ? demangled(symbol) : fmt::format("{}", frame);
  if (const std::string line = lines.line_at(call); !line.empty()) return fmt::format("{} at {}", name, line);
  if (!known || info.dli_fname == nullptr) return name;
  const std::string_view file = info.dli_fname;
  return fmt::format("{} in {}+{:#x}", name, file.substr(file.rfind('/') + 1),
                     call + 1 - reinterpret_cast<uint64_t>(info.dli_fbase));
}

// A lock that another thread held when this process was copied is never given back. Who waits for it needs no
// time of the processor; who merely shares a busy machine gets some of it in any such while.
constexpr unsigned kStillSeconds = 2;
constexpr unsigned kBusySeconds = 10;

void end_if_still(int) {
  static int64_t before_us = 0;
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  const int64_t now_us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  if (now_us - before_us < 1000) _exit(1);  // this handler itself takes less
  before_us = now_us;
  alarm(kStillSeconds);
}

void bound_child() {
  signal(SIGALRM, end_if_still);
  signal(SIGPROF, SIG_DFL);
  signal(SIGSEGV, SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  const itimerval busy{{}, {kBusySeconds, 0}};
  setitimer(ITIMER_PROF, &busy, nullptr);
  alarm(kStillSeconds);
}

}  // namespace

std::string name_frames(std::span<void* const> frames, const char* indentation) {
  const Lines lines;
  std::string text;
  for (void* const frame : without_own(frames))
    text += fmt::format("{}{}\n", indentation, describe(frame, lines));
  return text;
}

bool write_frame_names(std::span<void* const> frames, const char* indentation, int fd) {
  // It takes the child for a signal handler, and reports each allocation there as the program's fault.
  if (&__tsan_init != nullptr) return false;
  const pid_t child = _Fork();
  if (child < 0) return false;
  if (child == 0) {
    bound_child();
    const std::string text = name_frames(frames, indentation);
    const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(whole ? 0 : 1);
  }
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace plat::os
