// SPDX-License-Identifier: Apache-2.0
// The terminal as a screen: lines that fit it, and keys as they are pressed.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <vector>

namespace plat::cli {

enum class Key { None, Quit, Up, Down, PageUp, PageDown, Home, End, Other };

struct Pressed {
  Key key = Key::None;
  char letter = 0;  // of Other
};

class Screen {
 public:
  // Whether somebody sits at it.
  static bool is_there();
  // Another page of the terminal, which goes away with this.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // The lines from `first` on, each cut at the right edge; the last row is the
  // status. Returns how many rows the lines have.
  size_t draw(const std::vector<std::string>& lines, size_t first, const std::string& status);
  // A key, or None when the time is over or a signal came.
  Pressed wait(double seconds);

 private:
  termios before_{};
  std::string typed_;  // and not yet asked for
};

// The first of the keys in what was typed, which is not nothing; it goes from there.
Pressed next_key(std::string& typed);

// As much of a line as fits, by characters and not by bytes.
std::string cut(const std::string& line, size_t width);

}  // namespace plat::cli
