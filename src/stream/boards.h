// SPDX-License-Identifier: Apache-2.0
// Boards: where this process shows notifies and events to others, and where they show theirs (board.h).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "stream/board.h"

namespace plat::stream {

class Boards {
 public:
  // This process's own; made when it is first asked for.
  Result<std::shared_ptr<Board>> own();
  std::shared_ptr<Board> own_if_any() const;
  // Of another process; the number is the board's own (Board::secret), 0 for whichever it has. nullptr if it
  // has ended, or cannot be seen.
  std::shared_ptr<Board> of(int32_t pid, uint64_t secret);

  void close_own();
  // After fork: gives up what other processes see.
  void abandon_in_child();

 private:
  mutable std::mutex mutex_;  // guards both
  std::shared_ptr<Board> own_;
  std::vector<std::weak_ptr<Board>> foreign_;
};

}  // namespace plat::stream
