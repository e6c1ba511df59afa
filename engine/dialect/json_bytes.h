#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// JSON one byte at a time, as far as a model's calls need it. One text; one thread.
namespace kantha::dialect {

bool is_blank(char byte);  ///< JSON's white space
bool is_blank(std::string_view text);

/// Where a JSON array or object ends. Counts brackets outside of strings and forgives everything
/// else: what a model wrote between them is passed on as it is.
class JsonExtent {
 public:
  /// True with the byte that closes the outermost bracket. The first byte is the opening one.
  bool take(char byte);

 private:
  std::size_t depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
};

/// The text that a JSON string means, from the byte after its opening quote on.
class JsonTextReader {
 public:
  enum class Step { kMore, kEnd, kBroken };
  /// Appends what is certain; kEnd with the closing quote. Half surrogates become U+FFFD.
  Step take(char byte, std::string& text);

 private:
  Step take_escape(char byte, std::string& text);
  Step take_digit(char byte, std::string& text);
  void put_point(unsigned point, std::string& text);
  void put_lone(std::string& text);

  enum class State { kPlain, kEscape, kDigits } state_ = State::kPlain;
  unsigned point_ = 0;
  int digits_ = 0;
  unsigned high_ = 0;  ///< a high surrogate that waits for its low one
};

/// Appends one byte of UTF-8 text as it stands inside a JSON string.
void put_json_byte(char byte, std::string& json);
/// The text as a JSON string with its quotes; bytes that are not UTF-8 stay.
std::string json_string(std::string_view text);

}  // namespace kantha::dialect
