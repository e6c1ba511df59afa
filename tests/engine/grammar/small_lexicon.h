#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engine/grammar/grammar.h"

/// Vocabularies for tests: ids 0–255 are the bytes, then what is added.
namespace kantha::grammar {

inline std::shared_ptr<const Lexicon> small_lexicon(const std::vector<std::string>& more = {}) {
  std::vector<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    // What no UTF-8 text has is no token of a grammar.
    spellings.emplace_back(byte == kControlMark ? 0 : 1, static_cast<char>(byte));
  }
  spellings.insert(spellings.end(), more.begin(), more.end());
  return std::make_shared<const Lexicon>(std::move(spellings));
}

/// Tokens that cross the joints of JSON, repeat each other, and begin with each other.
inline std::shared_ptr<const Lexicon> joint_lexicon() {
  return small_lexicon(
      {"{\"",    "\":",    "\": ",    "\",",      "\", ",    "\",\"", "\"}", "}}",  "\"]",
       "],",     "[[",     "[]",      "{}",       "},{",     "12",    "123", "1,",  "-1",
       ".5",     "e1",     "true",    "tr",       "null",    "false", "  ",  "\n",  "\n  ",
       "\n    ", " \"",    " {",      "ab",       "abc",     "abc\"", "\\u", "\\n", "\\\"",
       "é",      "\xC3",   "🦩",      "\xF0\x9F", "a\"}",    "12}",   "a",   "a",   "\": \"",
       "name",   "name\"", "ame\": ", "}\n",      "x\", \"", "0",     "00"});
}

inline std::shared_ptr<const Grammar> compiled(const Wish& wish,
                                               std::shared_ptr<const Lexicon> lexicon) {
  auto grammar = compile(wish, std::move(lexicon));
  CHECK(grammar.ok(), "the test's wish is right");
  return *grammar;
}

enum class Verdict { kRefused, kUnfinished, kComplete, kFinished };

/// What a grammar says of a text.
inline Verdict verdict(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  GrammarState state(grammar);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!state.accept(text.substr(i, 1))) return Verdict::kRefused;
  }
  if (state.is_finished()) return Verdict::kFinished;
  return state.is_complete() ? Verdict::kComplete : Verdict::kUnfinished;
}

inline bool is_answer(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  const Verdict said = verdict(grammar, text);
  return said == Verdict::kComplete || said == Verdict::kFinished;
}

}  // namespace kantha::grammar
