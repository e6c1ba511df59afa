#include "engine/grammar/lexicon.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/text/tokenizer.h"

namespace kantha::grammar {
namespace {

constexpr char kMark = static_cast<char>(kControlMark);

std::string marked(std::string_view name) { return kMark + std::string(name) + kMark; }

/// Bytes of a token as the tree has them.
std::string spelling_of(const text::Tokenizer& tokenizer, TokenId id) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  const auto place = static_cast<std::size_t>(id);
  const auto ends = tokenizer.end_tokens();
  if (std::ranges::find(ends, id) != ends.end()) return {};
  if (tokenizer.is_control(id)) return marked(vocabulary.tokens[place]);
  const text::TokenType type = vocabulary.types[place];
  if (type == text::TokenType::kUnknown || type == text::TokenType::kUnused) return {};
  std::string bytes(tokenizer.bytes_of(id));
  return bytes.find(kMark) == std::string::npos ? bytes : std::string();
}

std::size_t shared_bytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Lexicon::Lexicon(std::vector<std::string> spellings) : spellings_(std::move(spellings)) {
  std::vector<TokenId> order(spellings_.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](TokenId id) { return bytes_of(id).empty(); });
  std::ranges::sort(order, {}, [&](TokenId id) { return std::pair(bytes_of(id), id); });
  nodes_.emplace_back();
  std::vector<std::uint32_t> path{0};  // nodes from the root to the last token
  std::string_view last;
  const auto leave = [&](std::size_t depth) {
    while (path.size() > depth + 1) {
      nodes_[path.back()].after = static_cast<std::uint32_t>(nodes_.size());
      path.pop_back();
    }
  };
  for (const TokenId id : order) {
    const std::string_view bytes = bytes_of(id);
    leave(shared_bytes(last, bytes));
    while (path.size() <= bytes.size()) {
      const auto byte = static_cast<unsigned char>(bytes[path.size() - 1]);
      const auto depth = static_cast<unsigned char>(std::min<std::size_t>(path.size(), 255));
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size()),
                        .byte = byte,
                        .depth = depth});
    }
    tokens_.push_back(id);
    if (bytes.size() == 1) single_bytes_.set(static_cast<unsigned char>(bytes[0]));
    longest_ = std::max(longest_, bytes.size());
    last = bytes;
  }
  leave(0);
  nodes_[0].after = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size())});
  measure();
}

/// Heights, and which tokens are short.
void Lexicon::measure() {
  for (std::size_t node = nodes_.size() - 1; node-- > 0;) {
    unsigned height = 0;
    for (std::uint32_t child = static_cast<std::uint32_t>(node) + 1; child < nodes_[node].after;
         child = nodes_[child].after) {
      height = std::max(height, nodes_[child].height + 1U);
    }
    nodes_[node].height = static_cast<unsigned char>(std::min(height, 255U));
  }
  short_.resize((kShortMax + 1) * words());
  for (std::size_t id = 0; id < spellings_.size(); ++id) {
    const std::size_t size = spellings_[id].size();
    for (std::size_t bytes = std::max<std::size_t>(size, 1); bytes <= kShortMax; ++bytes) {
      if (size > 0) short_[bytes * words() + id / 64] |= std::uint64_t{1} << (id % 64);
    }
  }
}

std::shared_ptr<const Lexicon> Lexicon::of(const text::Tokenizer& tokenizer) {
  std::vector<std::string> spellings;
  spellings.reserve(static_cast<std::size_t>(tokenizer.size()));
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    spellings.push_back(spelling_of(tokenizer, id));
  }
  return std::make_shared<const Lexicon>(std::move(spellings));
}

bool Lexicon::has_control_token(std::string_view spelling) const {
  return std::ranges::find(spellings_, marked(spelling)) != spellings_.end();
}

}  // namespace kantha::grammar
