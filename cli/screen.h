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

/// Columns of the terminal behind the descriptor; 0 when it is none.
std::size_t terminal_width(int fd);

}  // namespace kantha::cli
