#pragma once

#include <cstdio>
#include <string>

/// Where a verb that runs on puts its words: a table that is redrawn in place on a terminal, plain
/// lines elsewhere. One thread.
namespace kantha::cli {

class Screen {
 public:
  /// `live`: redraw in place; the caller knows whether the file is a terminal.
  Screen(std::FILE* file, bool live) : file_(file), live_(live) {}
  ~Screen() = default;

  bool live() const { return live_; }
  /// A line that stays, above the table.
  void say(const std::string& line);
  /// Replaces the table; only on a live screen.
  void show(const std::string& table);
  /// Takes the table off the screen; what was said stays.
  void clear();

 private:
  void erase();
  void draw();

  std::FILE* file_;
  bool live_;
  std::string table_;
  std::size_t lines_drawn_ = 0;
};

struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};

/// Size of the terminal behind the descriptor; zeros when it is none or does not know.
TerminalSize terminal_size(int fd);

}  // namespace kantha::cli
