#include "engine/text/special_tokens.h"

namespace kantha::text {
namespace {

std::uint64_t edge_key(std::uint32_t node, char byte) {
  return (std::uint64_t{node} << 8) | static_cast<unsigned char>(byte);
}

}  // namespace

void SpecialTokens::add(std::string_view name, TokenId id, bool everywhere) {
  if (name.empty()) return;
  starts_[static_cast<unsigned char>(name[0])] = true;
  std::uint32_t node = 0;
  for (const char byte : name) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    const auto [edge, added] = edges_.try_emplace(edge_key(node, byte), next);
    if (added) nodes_.emplace_back();
    node = edge->second;
  }
  if (nodes_[node].id < 0) nodes_[node] = {id, everywhere};
}

std::optional<std::uint32_t> SpecialTokens::child(std::uint32_t node, char byte) const {
  const auto edge = edges_.find(edge_key(node, byte));
  if (edge == edges_.end()) return std::nullopt;
  return edge->second;
}

std::optional<SpecialTokens::Match> SpecialTokens::match(std::string_view text, std::size_t at,
                                                         std::size_t trusted_end) const {
  if (!starts_[static_cast<unsigned char>(text[at])]) return std::nullopt;
  std::optional<Match> best;
  std::uint32_t node = 0;
  for (std::size_t end = at; end < text.size();) {
    const std::optional<std::uint32_t> next = child(node, text[end]);
    if (!next) break;
    node = *next;
    ++end;
    const bool allowed = nodes_[node].everywhere || end <= trusted_end;
    if (nodes_[node].id >= 0 && allowed) best = Match{nodes_[node].id, end - at};
  }
  return best;
}

}  // namespace kantha::text
