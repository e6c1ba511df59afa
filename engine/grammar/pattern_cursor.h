#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kantha::grammar {

/// Reads the text of a pattern or a grammar, code point by code point. The text is valid UTF-8.
class PatternCursor {
 public:
  PatternCursor(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  bool at_end() const { return at_ == text_.size(); }
  /// The byte here; NUL at the end.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip(std::size_t bytes) { at_ += bytes; }
  /// Skips `what` if it is here.
  bool take(std::string_view what) {
    if (!starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  /// The code point here, which is not the end.
  char32_t take_code();
  /// So many hexadecimal digits as a number; at most 8.
  Result<char32_t> take_hex(std::size_t digits);
  std::size_t offset() const { return at_; }
  void go_back_to(std::size_t offset) { at_ = offset; }
  std::string_view since(std::size_t offset) const { return text_.substr(offset, at_ - offset); }

  const std::string& path() const { return path_; }
  /// "PATH: WHAT at offset N", of the place here or at another one.
  Error error(const std::string& what) const { return error_at(at_, what); }
  Error error_at(std::size_t offset, const std::string& what) const;

 private:
  const std::string_view text_;
  const std::string path_;
  std::size_t at_ = 0;
};

}  // namespace kantha::grammar
