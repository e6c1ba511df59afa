#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/text/blank_signs.h"
#include "engine/text/text_encoder.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// One text being merged: neighbouring symbols become one when together they are a token, the best
/// score first and the leftmost among equals, by a heap over a linked list.
class ScoreMerge {
 public:
  ScoreMerge(const TokenTable& table, std::string_view text) : table_(table), text_(text) {
    symbols_.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = read_code_point(text, at);
      const bool good = point.state == Utf8State::kComplete;
      const auto index = static_cast<std::int32_t>(symbols_.size());
      const std::uint32_t length = good ? point.length : 1;
      symbols_.push_back({static_cast<std::uint32_t>(at), length, index - 1, index + 1});
      at += length;
    }
    symbols_.back().next = -1;
  }

  void run(std::vector<TokenId>& out) {
    for (std::int32_t i = 0; i >= 0; i = symbols_[i].next) consider(i);
    while (!heap_.empty()) {
      const Candidate best = heap_.front();
      std::ranges::pop_heap(heap_, Worse{});
      heap_.pop_back();
      Symbol& left = symbols_[best.left];
      if (left.next < 0 || left.length == 0) continue;
      Symbol& right = symbols_[left.next];
      // A queued pair that has grown since is another pair, and queued as such.
      if (left.length + right.length != best.length) continue;
      left.length += right.length;
      right.length = 0;
      left.next = right.next;
      if (left.next >= 0) symbols_[left.next].previous = best.left;
      consider(best.left);
      consider(left.previous);
    }
    for (std::int32_t i = 0; i >= 0; i = symbols_[i].next) emit(symbols_[i], out);
  }

 private:
  struct Symbol {
    std::uint32_t start;
    std::uint32_t length;   ///< 0: merged into the one before
    std::int32_t previous;  ///< -1: none
    std::int32_t next;      ///< -1: none
  };
  struct Candidate {
    float score;
    std::int32_t left;
    std::uint32_t length;  ///< of the two together
  };
  struct Worse {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.score != b.score ? a.score < b.score : a.left > b.left;
    }
  };

  void consider(std::int32_t left) {
    if (left < 0 || symbols_[left].next < 0) return;
    const Symbol& symbol = symbols_[left];
    const std::uint32_t length = symbol.length + symbols_[symbol.next].length;
    if (length > table_.longest) return;
    const TokenId id = table_.plain_token(text_.substr(symbol.start, length));
    if (id < 0) return;
    heap_.push_back({table_.vocabulary.scores[static_cast<std::size_t>(id)], left, length});
    std::ranges::push_heap(heap_, Worse{});
  }

  void emit(const Symbol& symbol, std::vector<TokenId>& out) const {
    const std::string_view text = text_.substr(symbol.start, symbol.length);
    const TokenId id = table_.plain_token(text);
    if (id >= 0) {
      out.push_back(id);
    } else {
      append_fallback(table_, text, out);
    }
  }

  const TokenTable& table_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

class ScoreEncoder : public TextEncoder {
 public:
  explicit ScoreEncoder(const TokenTable& table) : table_(table) {}

  void encode(std::string_view text, bool first, std::vector<TokenId>& out) const override {
    const std::string signs = with_blank_signs(table_.vocabulary, text, first);
    CHECK(signs.size() < std::numeric_limits<std::int32_t>::max());
    ScoreMerge(table_, signs).run(out);
  }
  void append_bytes(TokenId id, std::string& out) const override {
    append_sentence_piece_bytes(table_, id, out);
  }

 private:
  const TokenTable& table_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_score_encoder(const TokenTable& table) {
  TRY_OK(check_scores(table.vocabulary));
  return std::unique_ptr<TextEncoder>(std::make_unique<ScoreEncoder>(table));
}

}  // namespace kantha::text
