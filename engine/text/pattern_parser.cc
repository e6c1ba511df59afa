#include <algorithm>
#include <optional>
#include <string>

#include "engine/text/pattern_tree.h"
#include "engine/text/unicode_categories.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

constexpr int kDepthMax = 32;
constexpr std::int32_t kCountMax = 1000;

CodeSet space_set() {
  CodeSet set(0x09, 0x0D);
  for (const char32_t code : {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}) {
    set.add(code, code);
  }
  set.add(0x2000, 0x200A);
  return set;
}

CodeSet word_set() {
  CodeSet set('_', '_');
  for (const std::string_view name : {"Lu", "Ll", "Lt", "Lm", "Lo", "M", "Nd"}) {
    set.add(CodeSet(unicode_category(name)));
  }
  return set;
}

/// \p{name}; nothing for an unknown name.
std::optional<CodeSet> property_set(std::string_view name) {
  if (name == "L") {
    CodeSet set;
    for (const std::string_view part : {"Lu", "Ll", "Lt", "Lm", "Lo"}) {
      set.add(CodeSet(unicode_category(part)));
    }
    return set;
  }
  const auto ranges = unicode_category(name);
  if (ranges.empty()) return std::nullopt;
  return CodeSet(ranges);
}

bool is_ascii_letter(char32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
}

/// The set with both cases of its ASCII letters, and what folds to them.
CodeSet any_case(const CodeSet& set) {
  CodeSet out = set;
  for (char32_t code = 'A'; code <= 'Z'; ++code) {
    if (!set.contains(code) && !set.contains(code + 32)) continue;
    out.add(code, code);
    out.add(code + 32, code + 32);
    if (code == 'S') out.add(0x17F, 0x17F);    // long s
    if (code == 'K') out.add(0x212A, 0x212A);  // Kelvin sign
  }
  return out;
}

/// Recursive descent, one level per group.
class PatternParser {
 public:
  explicit PatternParser(std::string_view source) : source_(source) {}

  Result<PatternNode> parse() {
    TRY(PatternNode node, parse_choice());
    if (at_ < source_.size()) return wrong("the end, or |");
    return node;
  }

 private:
  bool done() const { return at_ >= source_.size(); }
  char peek() const { return done() ? '\0' : source_[at_]; }
  bool take(std::string_view text) {
    if (!source_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  std::string place() const {
    return "pattern \"" + std::string(source_) + "\" at byte " + std::to_string(at_);
  }
  Error wrong(std::string_view expected) const {
    return invalid_argument(place() + ": expected " + std::string(expected));
  }
  Error unknown(std::string_view what) const {
    return unimplemented(place() + ": " + std::string(what) + " is not known", "splits");
  }

  Result<PatternNode> parse_choice() {
    if (++depth_ > kDepthMax) return unknown("nesting this deep");
    PatternNode choice{.kind = PatternKind::kChoice};
    do {
      TRY(PatternNode sequence, parse_sequence());
      choice.parts.push_back(std::move(sequence));
    } while (take("|"));
    --depth_;
    if (choice.parts.size() == 1) {
      PatternNode only = std::move(choice.parts[0]);
      return only;
    }
    return choice;
  }

  Result<PatternNode> parse_sequence() {
    PatternNode sequence;
    while (!done() && peek() != '|' && peek() != ')') {
      TRY(PatternNode atom, parse_atom());
      TRY(PatternNode repeated, parse_repeats(std::move(atom)));
      sequence.parts.push_back(std::move(repeated));
    }
    TRY_OK(check_possessive(sequence));
    return sequence;
  }

  Result<PatternNode> parse_repeats(PatternNode atom) {
    std::int32_t low = 0;
    std::int32_t high = kEndless;
    if (take("*")) {
    } else if (take("+")) {
      low = 1;
    } else if (take("?")) {
      high = 1;
    } else if (peek() == '{') {
      TRY_OK(parse_counts(low, high));
      if (peek() == '+') return unknown("{n,m}+");
    } else {
      return atom;
    }
    if (atom.kind == PatternKind::kAhead) return unknown("a repeated look-ahead");
    if (peek() == '?') return unknown("a repeat that takes as little as possible");
    PatternNode repeat{.kind = PatternKind::kRepeat, .count_min = low, .count_max = high};
    repeat.possessive = take("+");
    if (peek() == '*' || peek() == '{' || peek() == '+') return unknown("a repeat of a repeat");
    repeat.parts.push_back(std::move(atom));
    return repeat;
  }

  Result<std::int32_t> parse_number() {
    std::int32_t value = 0;
    if (peek() < '0' || peek() > '9') return wrong("a number");
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + (source_[at_++] - '0');
      if (value > kCountMax) return wrong("a count of at most 1000");
    }
    return value;
  }

  Status parse_counts(std::int32_t& low, std::int32_t& high) {
    ++at_;
    TRY(low, parse_number());
    high = low;
    if (take(",")) {
      high = kEndless;
      if (peek() != '}') {
        TRY(high, parse_number());
        if (high < low) return wrong("a larger second count");
      }
    }
    if (!take("}")) return wrong("}");
    return ok_status();
  }

  /// A possessive repeat is the same as a greedy one when what follows cannot begin with what is
  /// repeated; others would need backtracking to be told apart and are refused.
  Status check_possessive(const PatternNode& sequence) const {
    for (std::size_t i = 0; i < sequence.parts.size(); ++i) {
      const PatternNode& part = sequence.parts[i];
      if (part.kind != PatternKind::kRepeat || !part.possessive) continue;
      const PatternNode& body = part.parts[0];
      if (body.kind != PatternKind::kSet) return unknown("a possessive repeat of a group");
      for (std::size_t next = i + 1; next < sequence.parts.size(); ++next) {
        const PatternNode& after = sequence.parts[next];
        const bool repeat = after.kind == PatternKind::kRepeat;
        const PatternNode& first = repeat ? after.parts[0] : after;
        if (first.kind != PatternKind::kSet && first.kind != PatternKind::kAhead) {
          return unknown("a group behind a possessive repeat");
        }
        if (!first.set.common_with(body.set).empty()) {
          return unknown("a possessive repeat of what follows it");
        }
        if (first.kind == PatternKind::kSet && (!repeat || after.count_min > 0)) break;
      }
    }
    return ok_status();
  }

  Result<PatternNode> parse_atom() {
    if (peek() == '(') return parse_group();
    if (take("$")) return PatternNode{.kind = PatternKind::kAhead, .at_end = true};
    if (take(".")) return set_node(CodeSet('\n', '\n').inverted());
    if (peek() == '^') return unknown("^");
    if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') {
      return wrong("something to repeat");
    }
    if (peek() == '[') {
      TRY(CodeSet set, parse_class());
      return set_node(std::move(set));
    }
    if (peek() == '\\') {
      TRY(CodeSet set, parse_escape());
      return set_node(std::move(set));
    }
    TRY(const char32_t code, parse_sign());
    return set_node(CodeSet(code, code));
  }

  PatternNode set_node(CodeSet set) const {
    return {.kind = PatternKind::kSet, .set = ignore_case_ ? any_case(set) : std::move(set)};
  }

  Result<PatternNode> parse_group() {
    ++at_;
    const bool outer_case = ignore_case_;
    bool ahead = false;
    bool negative = false;
    if (take("?:")) {
    } else if (take("?i:")) {
      ignore_case_ = true;
    } else if (take("?=")) {
      ahead = true;
    } else if (take("?!")) {
      ahead = negative = true;
    } else if (peek() == '?') {
      return unknown("this kind of group");
    }
    TRY(PatternNode inner, parse_choice());
    if (!take(")")) return wrong(")");
    ignore_case_ = outer_case;
    if (!ahead) return inner;
    while (inner.kind == PatternKind::kSequence && inner.parts.size() == 1) {
      PatternNode only = std::move(inner.parts[0]);
      inner = std::move(only);
    }
    if (inner.kind != PatternKind::kSet) return unknown("a look-ahead of more than one sign");
    return PatternNode{.kind = PatternKind::kAhead,
                       .set = negative ? inner.set.inverted() : inner.set,
                       .at_end = negative};
  }

  Result<char32_t> parse_sign() {
    const CodePoint point = read_code_point(source_, at_);
    if (point.state != Utf8State::kComplete) return wrong("UTF-8");
    at_ += point.length;
    return point.code;
  }

  /// `\x41`, `\x{1F600}`, `A`: the digits, behind the letter.
  Result<char32_t> parse_hex(std::size_t digits) {
    const bool braces = take("{");
    char32_t code = 0;
    std::size_t count = 0;
    while (count < (braces ? 6 : digits)) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        code = code * 16 + static_cast<char32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<char32_t>(lower - 'a' + 10);
      } else {
        break;
      }
      ++at_;
      ++count;
    }
    if (count == 0 || (!braces && count != digits) || code > 0x10FFFF) return wrong("hex digits");
    if (braces && !take("}")) return wrong("}");
    return code;
  }

  Result<CodeSet> parse_property(bool inverted) {
    std::string_view name;
    if (take("{")) {
      const bool negative = take("^");
      const std::size_t end = source_.find('}', at_);
      if (end == std::string_view::npos) return wrong("}");
      name = source_.substr(at_, end - at_);
      at_ = end + 1;
      inverted = inverted != negative;
    } else {
      name = source_.substr(at_, 1);
      at_ += name.size();
    }
    auto set = property_set(name);
    if (!set) return unknown("\\p{" + std::string(name) + "}");
    return inverted ? set->inverted() : std::move(*set);
  }

  Result<CodeSet> parse_escape() {
    ++at_;
    if (done()) return wrong("something behind the backslash");
    const char kind = source_[at_];
    const auto one = [](char32_t code) { return CodeSet(code, code); };
    ++at_;
    switch (kind) {
      case 's': return space_set();
      case 'S': return space_set().inverted();
      case 'd': return CodeSet(unicode_category("Nd"));
      case 'D': return CodeSet(unicode_category("Nd")).inverted();
      case 'w': return word_set();
      case 'W': return word_set().inverted();
      case 'p': return parse_property(false);
      case 'P': return parse_property(true);
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 't': return one('\t');
      case 'v': return one('\v');
      case 'f': return one('\f');
      case '0': return one('\0');
      case 'x': {
        TRY(const char32_t code, parse_hex(2));
        return one(code);
      }
      case 'u': {
        TRY(const char32_t code, parse_hex(4));
        return one(code);
      }
      default: break;
    }
    --at_;
    TRY(const char32_t code, parse_sign());
    if (is_ascii_letter(code) || (code >= '0' && code <= '9')) return unknown("this escape");
    return one(code);
  }

  /// One sign or escape inside brackets; `single` tells whether it may begin a range.
  Result<CodeSet> parse_member(bool& single, char32_t& code) {
    if (peek() == '\\') {
      TRY(CodeSet set, parse_escape());
      single = set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
      if (single) code = set.ranges()[0].first;
      return set;
    }
    single = true;
    TRY(code, parse_sign());
    return CodeSet(code, code);
  }

  Status parse_range(CodeSet& set) {
    bool single = false;
    char32_t low = 0;
    TRY(const CodeSet member, parse_member(single, low));
    const bool ranges = single && peek() == '-' && at_ + 1 < source_.size() &&
                        source_[at_ + 1] != ']' && source_[at_ + 1] != '[';
    if (!ranges) {
      set.add(member);
      return ok_status();
    }
    ++at_;
    char32_t high = 0;
    TRY(const CodeSet end, parse_member(single, high));
    if (!single || high < low || end.empty()) return wrong("the end of a range");
    set.add(low, high);
    return ok_status();
  }

  Result<CodeSet> parse_class() {
    if (++depth_ > kDepthMax) return unknown("nesting this deep");
    ++at_;
    const bool inverted = take("^");
    std::optional<CodeSet> common;  // what stands before &&
    CodeSet set;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (done()) return wrong("]");
      if (take("&&")) {
        common = common ? common->common_with(set) : set;
        set = CodeSet();
      } else if (peek() == '[') {
        TRY(const CodeSet inner, parse_class());
        set.add(inner);
      } else {
        TRY_OK(parse_range(set));
      }
    }
    ++at_;
    --depth_;
    if (common) set = common->common_with(set);
    return inverted ? set.inverted() : set;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ignore_case_ = false;
};

}  // namespace

Result<PatternNode> parse_pattern(std::string_view source) { return PatternParser(source).parse(); }

}  // namespace kantha::text
