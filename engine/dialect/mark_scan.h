#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kantha::dialect {

/// Finds a few marks in a text that comes byte by byte, and keeps back only what may still become
/// one. None of the marks is the beginning of another one. One text; one thread.
class MarkScan {
 public:
  explicit MarkScan(std::vector<std::string> marks) : marks_(std::move(marks)) {}

  /// Adds what is certainly no part of a mark to `plain`; gives the place of the mark that this
  /// byte completes.
  std::optional<std::size_t> take(char byte, std::string& plain);
  /// What is kept back, and forgets it.
  std::string release();
  const std::string& mark(std::size_t place) const { return marks_[place]; }
  bool empty() const { return marks_.empty(); }
  bool is_holding() const { return !held_.empty(); }

 private:
  std::vector<std::string> marks_;
  std::string held_;  ///< the beginning of a mark
};

}  // namespace kantha::dialect
