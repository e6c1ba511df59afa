#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Text that knows, stretch by stretch, whether it came from a request or from the template.
namespace kantha::text {

class MarkedText {
 public:
  /// A stretch of one origin; it ends before byte `end` and begins where the one before ends.
  struct Run {
    std::size_t end = 0;
    bool from_input = false;
  };

  MarkedText() = default;
  MarkedText(std::string_view bytes, bool from_input) { append(bytes, from_input); }

  void append(std::string_view bytes, bool from_input);
  void append(const MarkedText& other);
  void append(const MarkedText& other, std::size_t start, std::size_t length);
  /// The bytes start..start+length with their origins; `start` is inside or at the end.
  MarkedText slice(std::size_t start, std::size_t length = std::string::npos) const;

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Run>& runs() const { return runs_; }
  /// Whether any byte came from a request.
  bool any_input() const;

 private:
  std::string bytes_;
  std::vector<Run> runs_;  ///< neighbours differ in origin; ends ascend; empty for ""
};

}  // namespace kantha::text
