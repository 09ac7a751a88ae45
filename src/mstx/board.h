// SPDX-License-Identifier: Apache-2.0
// The board: a page of this process that another process of the same user can open and write to, to ask for
// a recorder while the program runs. `plat top --pid` and `plat record --pid` do.
//
// The page is a memory file mapped over a page of this library's data, found from outside as /proc/PID/fd/N.
// Nothing runs to look at it: the word that every mstx call reads anyway stands on it. Who asks writes the
// request and sets that word to 0, and the program's next call takes the slow way, finds the request and
// answers. A request can only name a trace to be written: what is loaded is the recorder that lies next to
// this library, so that nobody gains a way to run code of his choice in here.
//
// Who asks keeps a lock on a byte of the file for as long as the recorder is wanted. The system drops it with
// the process, however that ends, and the program's calls look from time to time: a recorder whose asker is
// gone is let go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plat::mstx {

inline constexpr uint64_t kBoardMagic = 0x6472616f'42544c50;  // "PLTBoard"
inline constexpr uint32_t kBoardVersion = 2;
inline constexpr char kBoardFile[] = "plat-mstx-board";
inline constexpr uint64_t kAskerByte = 0;      // locked by who asks
inline constexpr uint32_t kCallsPerLook = 64;  // of a thread, before it looks again whether the asker lives

// Recording: nothing is asked for, and a recorder is there because somebody asked.
enum class Asked : uint32_t { Nothing, Attach, Detach, BeingAnswered, Recording };

struct BoardFields {
  // Read by every call before anything else, here and in images. 0 unless nobody listens; then 1, and 2 once
  // something was registered that nobody heard of.
  std::atomic<int> quiet;
  std::atomic<Asked> asked;
  std::atomic<int> answer;  // platMstxResult of the last request
  uint32_t version;
  uint64_t magic;  // last of what says that this is a board
  char trace[2048];
  char stacks[16];
};
static_assert(std::atomic<int>::is_always_lock_free);

// A whole page of the largest kind that kernels of the architecture have: it is mapped by itself.
#if defined(__aarch64__)
inline constexpr size_t kBoardBytes = 65536;
#else
inline constexpr size_t kBoardBytes = 4096;
#endif
struct alignas(kBoardBytes) Board : BoardFields {};
static_assert(sizeof(Board) == kBoardBytes);

extern Board g_board;

// Makes the page one that others can open. Where that fails, nobody can ask, and all else is as before.
void open_board();
// In a forked child: a board of its own in place of the parent's.
void reopen_board();

// Does what the board asks for, unless another thread is at it or this one is inside a tool.
void answer_board();

}  // namespace plat::mstx
