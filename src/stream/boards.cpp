// SPDX-License-Identifier: Apache-2.0
#include "stream/boards.h"

#include <utility>

namespace plat::stream {

Result<std::shared_ptr<Board>> Boards::own() {
  std::lock_guard lock(mutex_);
  if (!own_) {
    PLAT_ASSIGN(made, Board::create());
    own_ = std::move(made);
  }
  return own_;
}

std::shared_ptr<Board> Boards::own_if_any() const {
  std::lock_guard lock(mutex_);
  return own_;
}

std::shared_ptr<Board> Boards::of(int32_t pid, uint64_t secret) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < foreign_.size();) {
    auto board = foreign_[i].lock();
    if (board && board->owner() == pid && (secret == 0 || board->secret() == secret))
      return board->owner_lives() ? board : nullptr;
    if (!board) {
      foreign_.erase(foreign_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  auto board = Board::open(pid);
  if (!board || (secret != 0 && board->secret() != secret)) return nullptr;
  foreign_.push_back(board);
  return board;
}

void Boards::close_own() {
  std::shared_ptr<Board> closed;
  {
    std::lock_guard lock(mutex_);
    closed = std::exchange(own_, nullptr);
  }
}

void Boards::abandon_in_child() {
  // The lock may be held by a thread that is not here.
  if (own_) own_->abandon_in_child();
}

}  // namespace plat::stream
