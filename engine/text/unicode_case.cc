#include "engine/text/unicode_case.h"

#include <algorithm>
#include <span>

#include "engine/text/unicode_ranges.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

char32_t mapped(std::span<const CaseRun> runs, char32_t code) {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), code,
                       [](char32_t value, const CaseRun& run) { return value < run.first; });
  if (after == runs.begin()) return code;
  const CaseRun& run = *std::prev(after);
  const bool hit = code <= run.last && (code - run.first) % static_cast<unsigned>(run.step) == 0;
  return hit ? static_cast<char32_t>(static_cast<int>(code) + run.delta) : code;
}

const SpecialCase* special(std::span<const SpecialCase> cases, char32_t code) {
  const auto at =
      std::lower_bound(cases.begin(), cases.end(), code,
                       [](const SpecialCase& entry, char32_t value) { return entry.from < value; });
  return at != cases.end() && at->from == code ? &*at : nullptr;
}

void append_beyond_ascii(std::string& out, char32_t code, LetterCase wanted) {
  if (wanted == LetterCase::kLower) {
    append_code_point(out, code == 0x130 ? 'i' : mapped(lower_runs(), code));
    if (code == 0x130) append_code_point(out, 0x307);
    return;
  }
  const bool upper = wanted == LetterCase::kUpper;
  const SpecialCase* entry = special(upper ? upper_specials() : title_specials(), code);
  if (entry == nullptr) {
    append_code_point(out, mapped(upper ? upper_runs() : title_runs(), code));
    return;
  }
  for (const char32_t part : {entry->first, entry->second, entry->third}) {
    if (part != 0) append_code_point(out, part);
  }
}

}  // namespace

void append_in_case(std::string& out, char32_t code, LetterCase wanted) {
  if (code >= 0x80) return append_beyond_ascii(out, code, wanted);
  const bool lower = code >= 'a' && code <= 'z';
  const bool upper = code >= 'A' && code <= 'Z';
  if (wanted == LetterCase::kLower) {
    append_code_point(out, upper ? code + 32 : code);
  } else {
    append_code_point(out, lower ? code - 32 : code);
  }
}

bool is_cased(char32_t code) {
  if (code < 0x80) return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  return mapped(upper_runs(), code) != code || mapped(lower_runs(), code) != code ||
         special(upper_specials(), code) != nullptr || code == 0x130;
}

std::string in_case(std::string_view text, LetterCase wanted) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    append_in_case(out, point.code, wanted);
    at += point.length;
  }
  return out;
}

}  // namespace kantha::text
