#pragma once

#include <string>

namespace kantha::dialect {

/// Writes a Python literal as JSON, byte by byte: text in either quotes, numbers, True, False,
/// None, lists, tuples and dicts. JSON's own literals are taken as well. One value; one thread.
class PythonLiteral {
 public:
  enum class Step {
    kMore,
    kEnd,     ///< the byte was the value's last
    kPast,    ///< the value ended before it
    kBroken,  ///< this is no literal
  };
  Step take(char byte, std::string& json);

 private:
  enum class State { kValue, kText, kEscape, kDigits, kWord, kAfter };
  Step take_value(char byte, std::string& json);
  Step take_text(char byte, std::string& json);
  Step take_escape(char byte, std::string& json);
  Step take_digits(char byte, std::string& json);
  Step take_after(char byte, std::string& json);
  bool end_word(std::string& json);
  Step end_value();
  void put_comma(std::string& json);

  State state_ = State::kValue;
  std::string open_;    ///< closing brackets that are owed, the innermost last
  std::string keys_;    ///< for each: 'k' a key comes, 'v' its value, 'i' an item of a list
  bool comma_ = false;  ///< one is owed, unless the container ends
  char quote_ = 0;
  std::string word_;
  std::string digits_;
  std::size_t digits_wanted_ = 0;
};

}  // namespace kantha::dialect
