#include <algorithm>
#include <limits>
#include <string>

#include "engine/text/blank_signs.h"
#include "engine/text/character_map.h"
#include "engine/text/text_encoder.h"
#include "engine/text/token_prefixes.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // SentencePiece's, below the worst token

/// The most likely way to cut a text into tokens: their scores are log-probabilities (Kudo,
/// "Subword Regularization", 2018). Viterbi from left to right over the bytes.
class UnigramEncoder : public TextEncoder {
 public:
  UnigramEncoder(const TokenTable& table, CharacterMap map) : table_(table), map_(std::move(map)) {
    double worst = 0;
    for (std::size_t i = 0; i < table.vocabulary.tokens.size(); ++i) {
      const TokenType type = table.vocabulary.types[i];
      const bool plain = type == TokenType::kNormal || type == TokenType::kUnused ||
                         type == TokenType::kUserDefined;
      if (!plain || table.vocabulary.tokens[i].empty()) continue;
      prefixes_.add(table.vocabulary.tokens[i], static_cast<TokenId>(i));
      if (type == TokenType::kNormal) {
        worst = std::min(worst, static_cast<double>(table.vocabulary.scores[i]));
      }
    }
    prefixes_.sort();
    unknown_score_ = worst - kUnknownPenalty;
  }

  void encode(std::string_view text, bool first, std::vector<TokenId>& out) const override {
    const std::string mapped = map_.apply(text);
    std::string_view kept = mapped;
    std::string tidy;
    if (table_.vocabulary.remove_extra_spaces) {
      tidy = without_extra_blanks(mapped);
      kept = tidy;
    }
    if (kept.empty()) return;
    append_best(with_blank_signs(table_.vocabulary, kept, first), out);
  }

  void append_bytes(TokenId id, std::string& out) const override {
    append_sentence_piece_bytes(table_, id, out);
  }

 private:
  /// The best way to reach one place.
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    std::uint32_t start = 0;
    TokenId id = -1;  ///< -1: unknown
  };

  static std::string without_extra_blanks(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
      out.push_back(c);
    }
    if (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }

  double score_of(TokenId id) const {
    const auto index = static_cast<std::size_t>(id);
    if (table_.vocabulary.types[index] == TokenType::kUserDefined) return 0;
    return table_.vocabulary.scores[index];
  }

  void append_best(std::string_view text, std::vector<TokenId>& out) const {
    CHECK(text.size() < std::numeric_limits<std::uint32_t>::max());
    std::vector<Best> best(text.size() + 1);
    best[0].score = 0;
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = read_code_point(text, at);
      const std::size_t sign_end = at + (point.state == Utf8State::kComplete ? point.length : 1);
      bool covered = false;
      const auto offer = [&](std::size_t end, TokenId id, double score) {
        const double total = best[at].score + score;
        if (total > best[end].score) best[end] = {total, static_cast<std::uint32_t>(at), id};
      };
      TokenPrefixes::Walk walk(prefixes_);
      for (std::size_t end = at; end < text.size() && walk.step(text[end]);) {
        ++end;
        if (walk.token() < 0) continue;
        covered = covered || end == sign_end;
        offer(end, walk.token(), score_of(walk.token()));
      }
      if (!covered) offer(sign_end, -1, unknown_score_);
      at = sign_end;
    }
    append_path(text, best, out);
  }

  void append_path(std::string_view text, const std::vector<Best>& best,
                   std::vector<TokenId>& out) const {
    std::vector<std::size_t> ends;
    for (std::size_t at = text.size(); at > 0; at = best[at].start) ends.push_back(at);
    std::ranges::reverse(ends);
    std::size_t unknown_start = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const Best& step = best[ends[i]];
      if (step.id >= 0) {
        out.push_back(step.id);
      } else {
        // Neighbouring unknown signs count as one.
        if (i == 0 || best[ends[i - 1]].id >= 0) unknown_start = start;
        const bool last = i + 1 == ends.size() || best[ends[i + 1]].id >= 0;
        if (last) {
          append_fallback(table_, text.substr(unknown_start, ends[i] - unknown_start), out);
        }
      }
      start = ends[i];
    }
  }

  const TokenTable& table_;
  CharacterMap map_;
  TokenPrefixes prefixes_;
  double unknown_score_ = 0;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_unigram_encoder(const TokenTable& table) {
  const Vocabulary& vocabulary = table.vocabulary;
  TRY_OK(check_scores(vocabulary));
  TRY(CharacterMap map, CharacterMap::read(vocabulary.charsmap));
  return std::unique_ptr<TextEncoder>(std::make_unique<UnigramEncoder>(table, std::move(map)));
}

}  // namespace kantha::text
