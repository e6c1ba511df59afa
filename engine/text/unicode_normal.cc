#include "engine/text/unicode_normal.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/text/code_set.h"
#include "engine/text/unicode_normal_tables.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

// Hangul syllables are numbered by leading consonant, vowel and trailing consonant.
constexpr char32_t kSyllable = 0xAC00;
constexpr char32_t kLead = 0x1100;
constexpr char32_t kVowel = 0x1161;
constexpr char32_t kTrail = 0x11A7;  ///< one before the first: number 0 is none
constexpr char32_t kVowels = 21;
constexpr char32_t kTrails = 28;
constexpr char32_t kSyllables = 11172;
constexpr char32_t kLeads = 19;

/// A code point of the text, or a byte that is not part of one (kBadSign + byte).
struct Mark {
  char32_t code = 0;
  std::uint8_t combining_class = 0;
  std::size_t place = 0;  ///< among the marks before they were sorted
};

std::uint8_t combining_class(char32_t code) {
  const auto ranges = combining_ranges();
  const auto after = std::ranges::upper_bound(ranges, code, {}, &CombiningRange::first);
  if (after == ranges.begin() || code > std::prev(after)->last) return 0;
  return std::prev(after)->combining_class;
}

void decompose(char32_t code, std::vector<Mark>& out) {
  if (code >= kSyllable && code < kSyllable + kSyllables) {
    const char32_t number = code - kSyllable;
    out.push_back({kLead + number / (kVowels * kTrails), 0});
    out.push_back({kVowel + number % (kVowels * kTrails) / kTrails, 0});
    if (number % kTrails != 0) out.push_back({kTrail + number % kTrails, 0});
    return;
  }
  const auto rows = decompositions();
  const auto row = std::ranges::lower_bound(rows, code, {}, &Decomposition::code);
  if (row == rows.end() || row->code != code) {
    out.push_back({code, combining_class(code)});
    return;
  }
  decompose(row->first, out);
  if (row->second != 0) decompose(row->second, out);
}

/// Marks between two code points of class 0 stand in the order of their classes.
std::vector<Mark> decomposed(std::string_view text) {
  std::vector<Mark> marks;
  marks.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    if (point.state != Utf8State::kComplete) {
      marks.push_back({kBadSign + static_cast<unsigned char>(text[at]), 0});
      ++at;
      continue;
    }
    decompose(point.code, marks);
    at += point.length;
  }
  for (auto start = marks.begin(); start != marks.end();) {
    if (start->combining_class == 0) {
      ++start;
      continue;
    }
    const auto end = std::find_if(start, marks.end(),
                                  [](const Mark& mark) { return mark.combining_class == 0; });
    for (auto mark = start; mark != end; ++mark) {
      mark->place = static_cast<std::size_t>(mark - start);
    }
    std::sort(start, end, [](const Mark& left, const Mark& right) {
      return std::pair(left.combining_class, left.place) <
             std::pair(right.combining_class, right.place);
    });
    start = end;
  }
  return marks;
}

std::uint64_t pair_key(char32_t first, char32_t second) {
  return std::uint64_t{first} << 32U | second;
}

const std::unordered_map<std::uint64_t, char32_t>& compositions() {
  static const auto table = [] {
    const CodeSet excluded(composition_exclusions());
    std::unordered_map<std::uint64_t, char32_t> made;
    for (const Decomposition& row : decompositions()) {
      if (row.second == 0 || excluded.contains(row.code)) continue;
      made.emplace(pair_key(row.first, row.second), row.code);
    }
    return made;
  }();
  return table;
}

/// The one code point for two; 0 when there is none.
char32_t composed(char32_t first, char32_t second) {
  const bool vowel = second >= kVowel && second < kVowel + kVowels;
  if (first >= kLead && first < kLead + kLeads && vowel) {
    return kSyllable + ((first - kLead) * kVowels + (second - kVowel)) * kTrails;
  }
  const bool open =
      first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTrails == 0;
  if (open && second > kTrail && second < kTrail + kTrails) return first + (second - kTrail);
  const auto found = compositions().find(pair_key(first, second));
  return found == compositions().end() ? 0 : found->second;
}

void compose(std::vector<Mark>& marks) {
  std::size_t starter = marks.size();  // place of the last code point of class 0
  std::size_t kept = 0;
  std::uint8_t last_class = 0;  // of what was kept behind the starter
  for (std::size_t at = 0; at < marks.size(); ++at) {
    const Mark mark = marks[at];
    const bool near = starter < kept && (starter + 1 == kept || last_class < mark.combining_class);
    const char32_t whole = near ? composed(marks[starter].code, mark.code) : 0;
    if (whole != 0) {
      marks[starter].code = whole;
      continue;
    }
    marks[kept] = mark;
    if (mark.combining_class == 0) starter = kept;
    last_class = mark.combining_class;
    ++kept;
  }
  marks.resize(kept);
}

std::string text_of(const std::vector<Mark>& marks) {
  std::string text;
  for (const Mark& mark : marks) {
    if (mark.code >= kBadSign) {
      text.push_back(static_cast<char>(mark.code - kBadSign));
    } else {
      append_code_point(text, mark.code);
    }
  }
  return text;
}

/// Nothing below U+00C0 changes in either form, and most texts hold nothing else.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0xC3; });
}

}  // namespace

std::string normal_form_c(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::vector<Mark> marks = decomposed(text);
  compose(marks);
  return text_of(marks);
}

std::string normal_form_d(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  return text_of(decomposed(text));
}

}  // namespace kantha::text
