// SPDX-License-Identifier: Apache-2.0
// A file of ours in a process that is not.
//
// The program may close any number, ours among them, and the system may then give that number to a file of
// the program's. So nothing is done with the number that is kept: each use takes a new one, looks whether
// that is our file, and closes it afterwards. If the kept number is lost, the file's name leads to it again.
#pragma once

#include <sys/types.h>

#include <climits>

namespace plat::inspect {

class OwnFile {
 public:
  // Takes the descriptor of a file that was just made under this name.
  void keep(int fd, const char* path);

  // A descriptor of this very file for a moment; -1 and errno if nothing leads there any more.
  int borrow();
  void give_back(int fd) const;

  // Closes what is kept, if it is still ours.
  void drop();

  const char* path() const { return path_; }

 private:
  bool is_this(int fd) const;
  int find_again();  // a new number, beside the one that is kept from then on

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  char path_[PATH_MAX] = {};
};

}  // namespace plat::inspect
