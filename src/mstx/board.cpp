// SPDX-License-Identifier: Apache-2.0
#include "mstx/board.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/errno_kept.h"
#include "base/unsignalled.h"
#include "mstx/broker.h"

namespace plat::mstx {

constinit Board g_board{};

namespace {

int g_board_fd = -1;
struct stat g_board_file {};
platMstxToolId_t g_recorder = 0;  // the one that was asked for; under the right to answer

// Puts the file in place of the page, with what the page holds. Between the copy and the mapping a call of
// another thread may set `quiet`; it is set again right after this by the thread that starts the tools.
bool put_in_place(int fd) {
  const Unsignalled unsignalled;  // a limit of files below one page
  BoardFields now{};
  now.quiet.store(g_board.quiet.load());
  now.version = kBoardVersion;
  now.magic = kBoardMagic;
  if (pwrite(fd, &now, sizeof now, 0) != static_cast<ssize_t>(sizeof now)) return false;
  if (ftruncate(fd, sizeof g_board) != 0) return false;
  return mmap(&g_board, sizeof g_board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == &g_board;
}

// The program may have closed the number, and it may be a file of the program's by now.
bool board_fd_is_ours() {
  struct stat now {};
  return fstat(g_board_fd, &now) == 0 && now.st_dev == g_board_file.st_dev &&
         now.st_ino == g_board_file.st_ino;
}

void close_board() {
  if (board_fd_is_ours()) close(g_board_fd);
  g_board_fd = -1;
}

// As far as can be seen.
bool asker_lives() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = kAskerByte;
  lock.l_len = 1;
  if (!board_fd_is_ours() || fcntl(g_board_fd, F_OFD_GETLK, &lock) != 0) return true;
  return lock.l_type != F_UNLCK;
}

// libplat_inspect.so beside this library.
std::string recorder_path() {
  Dl_info self{};
  if (dladdr(&g_board, &self) == 0 || self.dli_fname == nullptr) return "libplat_inspect.so";
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "libplat_inspect.so";
}

int attach_recorder() {
  // Another process may be writing.
  const std::string trace(g_board.trace, strnlen(g_board.trace, sizeof g_board.trace - 1));
  const std::string stacks(g_board.stacks, strnlen(g_board.stacks, sizeof g_board.stacks - 1));
  const std::string path = recorder_path();
  void* const library = load_tool(path.c_str());
  if (library == nullptr) return PLAT_MSTX_CANNOT_LOAD;
  using Prepare = int (*)(const char* trace, const char* stacks);
  const auto prepare = reinterpret_cast<Prepare>(dlsym(library, "plat_inspect_prepare"));
  if (prepare == nullptr) return PLAT_MSTX_NO_SYMBOL;
  if (prepare(trace.c_str(), stacks.c_str()) != 0)
    return PLAT_MSTX_ATTACHED;  // it records already, since the beginning
  platMstxToolId_t id = 0;      // given to a tool, too, that cannot be let in for want of memory
  const int result = attach_library(library, path.c_str(), &id);
  if (result == PLAT_MSTX_OK) g_recorder = id;
  return result;
}

}  // namespace

void open_board() {
  if (g_board_fd >= 0) return;
  const int fd = memfd_create(kBoardFile, MFD_CLOEXEC);
  if (fd < 0) return;
  // Out of the way of programs that close or reuse low numbers.
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
  if (high >= 0) close(fd);
  g_board_fd = high >= 0 ? high : fd;
  fstat(g_board_fd, &g_board_file);
  if (!put_in_place(g_board_fd)) close_board();
}

void reopen_board() {
  if (g_board_fd < 0) return;
  close_board();
  const int quiet = g_board.quiet.load();
  // What the parent's page says must not change with the parent.
  if (mmap(&g_board, sizeof g_board, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
           0) != &g_board)
    return;
  g_board.quiet.store(quiet);
  open_board();
}

void answer_board() {
  if (this_thread().inside() || this_thread().controlling != 0) return;
  Asked asked = g_board.asked.load(std::memory_order_acquire);
  if (asked == Asked::Nothing || asked == Asked::BeingAnswered) return;
  const ErrnoKept kept;
  if (asked == Asked::Recording && (++this_thread().calls % kCallsPerLook != 0 || asker_lives())) return;
  if (!g_board.asked.compare_exchange_strong(asked, Asked::BeingAnswered)) return;
  Tools& tools = Broker::get().tools;
  int result = PLAT_MSTX_INVALID;
  // Only one can have the lock: who asks for a recorder while there is one comes after an asker that died.
  if (g_recorder != 0) result = tools.detach(g_recorder);
  g_recorder = 0;
  if (asked == Asked::Attach) result = guarded(attach_recorder);
  tools.settle();
  g_board.answer.store(result);
  g_board.asked.store(g_recorder != 0 ? Asked::Recording : Asked::Nothing, std::memory_order_release);
}

}  // namespace plat::mstx
