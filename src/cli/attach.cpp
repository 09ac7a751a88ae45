// SPDX-License-Identifier: Apache-2.0
#define MSTX_NO_IMPL
#include "cli/attach.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "mstx/board.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/process.h"
#include "plat/mstx_ext.h"

namespace plat::cli {

namespace {

constexpr uint32_t kLookAgainMicroseconds = 5000;
constexpr double kDetachPatience = 2;

// The board is among the files that the process has open, under a name that says so.
os::Fd open_board_of(int pid) {
  const std::string directory = fmt::format("/proc/{}/fd", pid);
  for (const std::string& number : os::list_directory(directory)) {
    std::error_code error;
    const std::string path = directory + "/" + number;
    const std::string target = std::filesystem::read_symlink(path, error).string();
    if (error || target.find(fmt::format("memfd:{}", mstx::kBoardFile)) == std::string::npos) continue;
    if (os::Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC)); fd) return fd;
  }
  return {};
}

std::string reason_of(int answer) {
  switch (answer) {
    case PLAT_MSTX_CANNOT_LOAD:
      return "libplat_inspect.so does not lie beside the libms_tools_ext.so of the process";
    case PLAT_MSTX_ATTACHED:
      return "it is being recorded already";
    case PLAT_MSTX_TOO_MANY:
      return "it has as many tools as it can have";
    default:
      return fmt::format("its broker answered {}", answer);
  }
}

}  // namespace

std::unique_ptr<Attachment> Attachment::find(int pid, std::string& problem) {
  if (os::start_time_of(pid) == 0) {
    problem = "there is no such process";
    return nullptr;
  }
  os::Fd fd = open_board_of(pid);
  const auto identity = fd ? os::identify(fd.get()) : std::nullopt;
  if (!identity || identity->size_bytes < sizeof(mstx::Board)) {
    problem =
        "it has no mstx broker that could let the recorder in: it does not use Plat's "
        "libms_tools_ext.so, has made no mstx call yet, or is another user's";
    return nullptr;
  }
  auto* const page = os::map_shared(fd.get(), 0, sizeof(mstx::Board));
  auto* const board = reinterpret_cast<mstx::Board*>(page);
  if (page != nullptr && board->magic == mstx::kBoardMagic && board->version == mstx::kBoardVersion)
    return std::unique_ptr<Attachment>(new Attachment(pid, std::move(fd), board));
  if (page != nullptr) os::unmap(page, sizeof(mstx::Board));
  problem = "its mstx broker is of another version";
  return nullptr;
}

bool Attachment::is_abandoned(int pid) {
  std::string problem;
  const std::unique_ptr<Attachment> found = find(pid, problem);
  if (found == nullptr) return false;
  const std::atomic<mstx::Asked>& asked = found->board_->asked;
  const uint64_t until = os::monotonic_nanoseconds() + static_cast<uint64_t>(kDetachPatience * 1e9);
  while (asked.load(std::memory_order_acquire) == mstx::Asked::BeingAnswered &&
         os::monotonic_nanoseconds() < until)  // it may be stopped
    os::sleep_microseconds(kLookAgainMicroseconds);
  return asked.load(std::memory_order_acquire) == mstx::Asked::Recording &&
         os::try_lock_byte(found->file_.get(), mstx::kAskerByte) == 0;
}

Attachment::~Attachment() {
  detach();
  os::unmap(reinterpret_cast<std::byte*>(board_), sizeof(mstx::Board));
}

Attachment::Waited Attachment::wait(double patience_s, const std::function<bool()>& stop) {
  const uint64_t until = os::monotonic_nanoseconds() + static_cast<uint64_t>(patience_s * 1e9);
  for (;;) {
    const mstx::Asked asked = board_->asked.load(std::memory_order_acquire);
    if (asked == mstx::Asked::Nothing || asked == mstx::Asked::Recording) return Waited::Answered;
    // Every look says it again: a tool that comes or goes meanwhile sets the word anew.
    if (asked != mstx::Asked::BeingAnswered) board_->quiet.store(0, std::memory_order_release);
    if (os::start_time_of(pid_) == 0) return Waited::Ended;
    if (stop()) return Waited::Stopped;
    if (os::monotonic_nanoseconds() > until) return Waited::TooLong;
    os::sleep_microseconds(kLookAgainMicroseconds);
  }
}

// What an asker that is dead by now has asked for. Then nobody reads the page, and it can be written.
mstx::Asked Attachment::withdraw() {
  mstx::Asked asked = board_->asked.load(std::memory_order_acquire);
  while (asked == mstx::Asked::BeingAnswered ||
         !board_->asked.compare_exchange_strong(asked, mstx::Asked::Nothing)) {
    if (os::start_time_of(pid_) == 0) return mstx::Asked::Nothing;
    if (asked == mstx::Asked::BeingAnswered) os::sleep_microseconds(kLookAgainMicroseconds);
    asked = board_->asked.load(std::memory_order_acquire);
  }
  return asked;
}

bool Attachment::attach(const std::string& trace, const std::string& stacks, double patience_s,
                        const std::function<bool()>& stop, std::string& problem) {
  if (trace.size() >= sizeof board_->trace || stacks.size() >= sizeof board_->stacks) {
    problem = "the name of the trace is too long";
    return false;
  }
  if (os::try_lock_byte(file_.get(), mstx::kAskerByte) != 0) {
    problem = "another plat looks into it just now";
    return false;
  }
  const mstx::Asked before = withdraw();
  std::memcpy(board_->trace, trace.c_str(), trace.size() + 1);
  std::memcpy(board_->stacks, stacks.c_str(), stacks.size() + 1);
  board_->asked.store(mstx::Asked::Attach, std::memory_order_release);
  switch (wait(patience_s, stop)) {
    case Waited::Answered:
      if (const int answer = board_->answer.load(); answer != PLAT_MSTX_OK) {
        problem = reason_of(answer);
        return false;
      }
      attached_ = true;
      return true;
    case Waited::Ended:
      problem = "it has ended";
      break;
    case Waited::Stopped:
      problem = "it made no mstx call before this was ended";
      break;
    case Waited::TooLong:
      problem =
          fmt::format("it made no mstx call in {:.0f} s; only then can the recorder come in", patience_s);
      break;
  }
  auto unanswered = mstx::Asked::Attach;
  // Answered at the last moment: then there is a recorder to be let go.
  // And a recorder of an asker that is dead is still there, to be let go at the next call.
  const bool is_left = before == mstx::Asked::Recording || before == mstx::Asked::Detach;
  attached_ = !board_->asked.compare_exchange_strong(unanswered,
                                                     is_left ? mstx::Asked::Recording : mstx::Asked::Nothing);
  return false;
}

void Attachment::detach() {
  if (!attached_ || os::start_time_of(pid_) == 0) return;
  attached_ = false;
  wait(kDetachPatience, [] { return false; });  // for a request that is being answered
  auto recording = mstx::Asked::Recording;
  // Not over a request that is still being answered: then the end of our lock says it.
  if (!board_->asked.compare_exchange_strong(recording, mstx::Asked::Detach)) return;
  wait(kDetachPatience, [] { return false; });
}

}  // namespace plat::cli
