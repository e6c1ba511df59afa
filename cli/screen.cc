#include "cli/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/pod_table.h"

namespace kantha::cli {

void Screen::erase() {
  // To column 1 (a key's echo may have moved on), up over the table, then clear to the end of the
  // screen (ECMA-48: CR, CUU, ED).
  if (lines_drawn_ > 0) std::fprintf(file_, "\r\x1b[%zuA\x1b[J", lines_drawn_);
  lines_drawn_ = 0;
}

void Screen::draw() {
  // A line longer than the terminal would take two rows and spoil the count, and what has scrolled
  // out at the top cannot be erased; the last row is the cursor's.
  const TerminalSize size = terminal_size(fileno(file_));
  std::string text = cut_lines(table_, size.columns);
  if (size.rows > 0) text = first_lines(text, size.rows - 1);
  std::fputs(text.c_str(), file_);
  lines_drawn_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  std::fflush(file_);
}

void Screen::say(const std::string& line) {
  if (live_) erase();
  std::fprintf(file_, "%s\n", line.c_str());
  if (live_) draw();
  std::fflush(file_);
}

void Screen::show(const std::string& table) {
  if (!live_) return;
  erase();
  table_ = table;
  draw();
}

void Screen::clear() {
  if (!live_) return;
  erase();
  table_.clear();
  std::fflush(file_);
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  if (isatty(fd) == 0 || ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace kantha::cli
