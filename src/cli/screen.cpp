// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace plat::cli {

bool Screen::is_there() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

Screen::Screen() {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals stay: Ctrl-C ends us as it always does
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  std::fputs("\x1b[?1049h\x1b[?25l", stdout);
  std::fflush(stdout);
}

Screen::~Screen() {
  std::fputs("\x1b[?25h\x1b[?1049l", stdout);
  std::fflush(stdout);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::string cut(const std::string& line, size_t width) {
  size_t characters = 0, at = 0;
  while (at < line.size()) {
    if ((static_cast<unsigned char>(line[at]) & 0xc0) != 0x80 && ++characters > width) break;
    ++at;
  }
  return line.substr(0, at);
}

size_t Screen::draw(const std::vector<std::string>& lines, size_t first, const std::string& status) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col == 0)
    size = {24, 80, 0, 0};
  const size_t rows = size.ws_row - 1u;
  std::string text = "\x1b[H";
  for (size_t row = 0; row < rows; ++row) {
    if (first + row < lines.size()) text += cut(lines[first + row], size.ws_col);
    text += "\x1b[K\r\n";
  }
  text += "\x1b[2K\x1b[7m" + cut(status, size.ws_col) + "\x1b[0m";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return rows;
}

Pressed Screen::wait(double seconds) {
  if (typed_.empty()) {
    pollfd asked{STDIN_FILENO, POLLIN, 0};
    if (poll(&asked, 1, static_cast<int>(seconds * 1000)) <= 0) return {};
    char bytes[64];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) return {Key::Quit, 0};  // the terminal is gone
    typed_.assign(bytes, static_cast<size_t>(got));
  }
  return next_key(typed_);
}

Pressed next_key(std::string& typed) {
  static constexpr struct {
    std::string_view bytes;
    Key key;
  } kKeys[] = {{"q", Key::Quit},      {"\x1b[A", Key::Up},        {"k", Key::Up},
               {"\x1b[B", Key::Down}, {"j", Key::Down},           {"\x1b[5~", Key::PageUp},
               {" ", Key::PageDown},  {"\x1b[6~", Key::PageDown}, {"\x1b[H", Key::Home},
               {"g", Key::Home},      {"\x1b[F", Key::End},       {"G", Key::End}};
  for (const auto& known : kKeys) {
    if (!typed.starts_with(known.bytes)) continue;
    typed.erase(0, known.bytes.size());
    return {known.key, 0};
  }
  // Of a key that is none of ours, all it sends goes.
  const char letter = typed[0];
  size_t length = 1;
  if (typed.starts_with("\x1b["))
    length = std::min(typed.size(),
                      typed.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ~abcdefghijklmnopqrstuvwxyz", 2)) +
             1;
  typed.erase(0, length);
  return {Key::Other, letter};
}

}  // namespace plat::cli
