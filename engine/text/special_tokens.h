#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

/// Finds tokens that stand in a text under their own name, such as <|im_end|>.
namespace kantha::text {

class SpecialTokens {
 public:
  struct Match {
    TokenId id = 0;
    std::size_t length = 0;  ///< bytes
  };

  /// `everywhere`: found in any text; otherwise only in text that the template wrote. An empty
  /// name is never found; of two tokens with one name the first added counts.
  void add(std::string_view name, TokenId id, bool everywhere);
  /// The longest name that begins at `at`. Names that are not `everywhere` must end at or before
  /// `trusted_end`. At most as many steps as the longest name has bytes. Any thread.
  std::optional<Match> match(std::string_view text, std::size_t at, std::size_t trusted_end) const;

 private:
  struct Node {
    TokenId id = -1;
    bool everywhere = false;
  };
  std::optional<std::uint32_t> child(std::uint32_t node, char byte) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::unordered_map<std::uint64_t, std::uint32_t> edges_;  ///< node · 256 + byte → node
  std::array<bool, 256> starts_{};
};

}  // namespace kantha::text
