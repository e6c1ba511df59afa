#include "bench/load/prompt_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "bench/load/draws.h"

namespace kantha::bench {
namespace {

constexpr std::array<std::string_view, 160> kWords = {
    "the",     "time",     "year",    "people",  "way",     "day",      "man",      "thing",
    "woman",   "life",     "child",   "world",   "school",  "state",    "family",   "group",
    "country", "hand",     "part",    "place",   "case",    "week",     "company",  "system",
    "program", "question", "work",    "number",  "night",   "point",    "home",     "water",
    "room",    "mother",   "area",    "money",   "story",   "fact",     "month",    "lot",
    "right",   "study",    "book",    "eye",     "job",     "word",     "business", "issue",
    "side",    "kind",     "head",    "house",   "service", "friend",   "father",   "power",
    "hour",    "game",     "line",    "end",     "member",  "law",      "car",      "city",
    "name",    "team",     "minute",  "idea",    "body",    "back",     "parent",   "face",
    "level",   "office",   "door",    "health",  "person",  "art",      "war",      "history",
    "party",   "result",   "change",  "morning", "reason",  "research", "girl",     "guy",
    "moment",  "air",      "teacher", "force",   "order",   "form",     "field",    "light",
    "paper",   "river",    "road",    "tree",    "old",     "new",      "good",     "high",
    "small",   "large",    "early",   "young",   "long",    "great",    "little",   "own",
    "other",   "big",      "late",    "hard",    "open",    "clear",    "white",    "black",
    "make",    "take",     "come",    "see",     "know",    "get",      "give",     "find",
    "think",   "tell",     "ask",     "seem",    "feel",    "try",      "leave",    "call",
    "keep",    "begin",    "show",    "hear",    "play",    "run",      "move",     "live",
    "bring",   "write",    "sit",     "stand",   "lose",    "pay",      "meet",     "learn",
    "lead",    "watch",    "follow",  "stop",    "speak",   "read",     "spend",    "grow"};

std::string words(Draws draws, int count) {
  std::string text;
  text.reserve(static_cast<std::size_t>(std::max(0, count)) * 6);
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords[static_cast<std::size_t>(draws.between(0, int(kWords.size()) - 1))];
  }
  return text;
}

int words_for(double tokens, const TokenRatio& ratio) {
  return std::max(0, static_cast<int>(std::lround(tokens / std::max(0.1, ratio.tokens_per_word))));
}

}  // namespace

std::string random_words(std::uint64_t seed, std::uint64_t index, int count) {
  return words(Draws(seed, Stream::kWords, index), count);
}

std::string prompt_text(std::uint64_t seed, std::uint64_t index, const RequestShape& shape,
                        const TokenRatio& ratio) {
  std::string text;
  if (shape.prefix_index >= 0) {
    const auto prefix = static_cast<std::uint64_t>(shape.prefix_index);
    text = words(Draws(seed, Stream::kPrefixWords, prefix), words_for(shape.prefix_tokens, ratio));
    text += ' ';
  }
  const double own = shape.input_tokens - shape.prefix_tokens - ratio.tokens_beside;
  return text + random_words(seed, index, std::max(1, words_for(own, ratio)));
}

}  // namespace kantha::bench
