#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Looks for one stop string in a stream of bytes (Knuth, Morris, Pratt, 1977): constant memory
/// beside the string itself and, over the whole stream, at most two steps a byte.
namespace kantha::text {

class StopMatcher {
 public:
  /// `stop` must not be empty.
  explicit StopMatcher(std::string stop);
  /// Takes the next byte; true when the stop string ends with it.
  bool advance(char byte);
  /// How many of the last bytes may be the beginning of the stop string; less than its length.
  std::size_t pending() const { return matched_; }
  std::size_t length() const { return stop_.size(); }

 private:
  std::string stop_;
  std::vector<std::size_t> fallback_;  ///< [length + 1]: longest proper border of each prefix
  std::size_t matched_ = 0;
};

}  // namespace kantha::text
