#include "engine/grammar/regex_parser.h"

#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "engine/grammar/pattern_cursor.h"
#include "engine/text/utf8.h"

namespace kantha::grammar {
namespace {

using Kind = Expression::Kind;

const text::CodeSet& digits() {
  static const text::CodeSet codes{{'0', '9'}};
  return codes;
}
const text::CodeSet& word_codes() {
  static const text::CodeSet codes{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return codes;
}
/// ECMA-262's white space and line terminators.
const text::CodeSet& spaces() {
  static const text::CodeSet codes{
      {'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
      {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return codes;
}
const text::CodeSet& line_ends() {
  static const text::CodeSet codes{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return codes;
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, const std::string& path, Budget& budget)
      : cursor_(pattern, path), budget_(budget) {}

  Result<Expression> parse() {
    TRY(Expression whole, alternatives(0));
    if (!cursor_.at_end()) return cursor_.error("')' without '('");
    return whole;
  }

 private:
  // NOLINTBEGIN(misc-no-recursion): the depth is limited
  Result<Expression> alternatives(std::size_t depth) {
    TRY_OK(budget_.check_depth(depth, cursor_.path()));
    Expression result{.kind = Kind::kOneOf};
    do {
      TRY(Expression part, sequence(depth));
      result.parts.push_back(std::move(part));
    } while (cursor_.take("|"));
    if (result.parts.size() > 1) return result;
    return std::move(result.parts.front());
  }

  Result<Expression> sequence(std::size_t depth) {
    Expression result{.kind = Kind::kSequence};
    while (!cursor_.at_end() && cursor_.peek() != '|' && cursor_.peek() != ')') {
      TRY_OK(budget_.work(4));
      const std::size_t begin = cursor_.offset();
      TRY(Expression part, atom(depth));
      TRY(const auto repeats, quantifier());
      if (repeats) {
        if (part.kind == Kind::kAnchor) return cursor_.error_at(begin, "an anchor is repeated");
        part = repeated(std::move(part), *repeats);
      }
      result.parts.push_back(std::move(part));
    }
    return result;
  }

  Result<Expression> atom(std::size_t depth) {
    switch (cursor_.peek()) {
      case '(': return group(depth);
      case '[': return character_class();
      case '\\': return escape();
      case '^': cursor_.skip(1); return anchor(Anchor::kStart);
      case '$': cursor_.skip(1); return anchor(Anchor::kEnd);
      case '.': cursor_.skip(1); return codes_of(text::CodeSet::all_codes().without(line_ends()));
      case '*':
      case '+':
      case '?': return cursor_.error("nothing to repeat");
      case '{':
      case '}':
      case ']': return cursor_.error(std::string("unescaped '") + cursor_.peek() + "'");
      default: break;
    }
    const char32_t code = cursor_.take_code();
    return codes_of({{code, code}});
  }

  Result<Expression> group(std::size_t depth) {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    if (cursor_.take("?")) {
      const bool look = cursor_.peek() == '=' || cursor_.peek() == '!' ||
                        cursor_.starts_with("<=") || cursor_.starts_with("<!");
      if (look) return cursor_.error_at(begin, "look-around is not supported,");
      if (cursor_.take("<")) {
        while (!cursor_.at_end() && cursor_.peek() != '>') cursor_.skip(1);
        if (!cursor_.take(">")) return cursor_.error_at(begin, "unclosed group name");
      } else if (!cursor_.take(":")) {
        return cursor_.error_at(begin, "this kind of group is not supported,");
      }
    }
    TRY(Expression inner, alternatives(depth + 1));
    if (!cursor_.take(")")) return cursor_.error_at(begin, "unclosed group");
    return inner;
  }
  // NOLINTEND(misc-no-recursion)

  static Expression anchor(Anchor anchor) { return {.kind = Kind::kAnchor, .anchor = anchor}; }

  Result<std::optional<Repeats>> quantifier() {
    std::optional<Repeats> repeats;
    const std::size_t begin = cursor_.offset();
    if (cursor_.take("*")) {
      repeats = {0, -1};
    } else if (cursor_.take("+")) {
      repeats = {1, -1};
    } else if (cursor_.take("?")) {
      repeats = {0, 1};
    } else if (cursor_.take("{")) {
      TRY(repeats, counts(begin));
    }
    if (!repeats) return repeats;
    cursor_.take("?");
    const char next = cursor_.peek();
    if (next == '*' || next == '+' || next == '?') return cursor_.error("a second quantifier");
    return repeats;
  }

  Result<std::optional<Repeats>> counts(std::size_t begin) {
    TRY(const std::int32_t min, number(begin));
    Repeats repeats{min, min};
    if (cursor_.take(",")) {
      repeats.max = -1;
      if (cursor_.peek() != '}') {
        TRY(repeats.max, number(begin));
      }
    }
    if (!cursor_.take("}")) return cursor_.error_at(begin, "'{' that begins no quantifier");
    if (repeats.max >= 0 && repeats.max < repeats.min) {
      return cursor_.error_at(begin, "a quantifier whose numbers are out of order");
    }
    return std::optional(repeats);
  }

  Result<std::int32_t> number(std::size_t begin) {
    const std::size_t from = cursor_.offset();
    while (cursor_.peek() >= '0' && cursor_.peek() <= '9') cursor_.skip(1);
    const std::string_view text = cursor_.since(from);
    if (text.empty()) return cursor_.error_at(begin, "'{' that begins no quantifier");
    std::int32_t value = std::numeric_limits<std::int32_t>::max();
    std::from_chars(text.data(), text.data() + text.size(), value);
    TRY_OK(budget_.check_repeats(static_cast<std::size_t>(value), cursor_.path()));
    return value;
  }

  Result<Expression> escape() {
    TRY(const text::CodeSet codes, escaped(/*in_class=*/false));
    return codes_of(codes);
  }

  /// The code points of an escape, at its backslash.
  Result<text::CodeSet> escaped(bool in_class) {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    if (cursor_.at_end()) return cursor_.error_at(begin, "a backslash at the end");
    const auto refuse = [&](const std::string& what) {
      return cursor_.error_at(begin, what + " is not supported,");
    };
    const char letter = cursor_.peek();
    if (letter == 'b' && in_class) {
      cursor_.skip(1);
      return text::CodeSet{{'\b', '\b'}};
    }
    if (letter == 'b' || letter == 'B') return refuse(std::string("\\") + letter);
    if (letter == 'p' || letter == 'P') return refuse(std::string("\\") + letter + "{…}");
    if (letter >= '1' && letter <= '9') return refuse("a back-reference");
    if (letter == 'k' || letter == '0') return escaped_zero(begin, letter);
    if (const text::CodeSet* shorthand = class_of(letter)) {
      cursor_.skip(1);
      const bool opposite = letter == 'D' || letter == 'W' || letter == 'S';
      return opposite ? text::CodeSet::all_codes().without(*shorthand) : *shorthand;
    }
    TRY(const char32_t code, escaped_code(begin));
    return text::CodeSet{{code, code}};
  }

  Result<text::CodeSet> escaped_zero(std::size_t begin, char letter) {
    const char next = cursor_.peek(1);
    if (letter == 'k') return cursor_.error_at(begin, "a back-reference is not supported,");
    if (next >= '0' && next <= '9') {
      return cursor_.error_at(begin, "an octal escape is not supported,");
    }
    cursor_.skip(1);
    return text::CodeSet{{0, 0}};
  }

  static const text::CodeSet* class_of(char letter) {
    switch (letter) {
      case 'd':
      case 'D': return &digits();
      case 'w':
      case 'W': return &word_codes();
      case 's':
      case 'S': return &spaces();
      default: return nullptr;
    }
  }

  /// The code point of an escape that stands for one, after its backslash.
  Result<char32_t> escaped_code(std::size_t begin) {
    const char32_t code = cursor_.take_code();
    switch (code) {
      case 't': return U'\t';
      case 'n': return U'\n';
      case 'r': return U'\r';
      case 'f': return U'\f';
      case 'v': return U'\v';
      case 'x': return cursor_.take_hex(2);
      case 'u': return unicode_escape();
      case 'c': return control_escape(begin);
      default: break;
    }
    const bool letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
    if (!letter) return code;
    std::string name = "\\";
    text::append_code_point(name, code);
    return cursor_.error_at(begin, name + " is not an escape,");
  }

  Result<char32_t> unicode_escape() {
    if (cursor_.take("{")) {
      std::size_t length = 0;
      while (cursor_.peek(length) != '}' && length < 7) ++length;
      TRY(const char32_t code, cursor_.take_hex(length == 0 ? 1 : length));
      if (!cursor_.take("}")) return cursor_.error("unclosed \\u{");
      return code;
    }
    TRY(const char32_t first, cursor_.take_hex(4));
    if (first < 0xD800 || first > 0xDBFF || !cursor_.starts_with("\\u")) return first;
    const std::size_t back = cursor_.offset();
    cursor_.skip(2);
    TRY(const char32_t second, cursor_.take_hex(4));
    if (second >= 0xDC00 && second <= 0xDFFF) {
      return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    cursor_.go_back_to(back);
    return first;
  }

  Result<char32_t> control_escape(std::size_t begin) {
    const char letter = cursor_.peek();
    const bool good = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    if (!good) return cursor_.error_at(begin, "\\c without a letter");
    cursor_.skip(1);
    return static_cast<char32_t>(letter) % 32;
  }

  Result<Expression> character_class() {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    const bool negated = cursor_.take("^");
    text::CodeSet codes;
    while (cursor_.peek() != ']' || cursor_.at_end()) {
      if (cursor_.at_end()) return cursor_.error_at(begin, "unclosed class");
      TRY_OK(budget_.work(8));
      TRY(const text::CodeSet first, class_item());
      if (cursor_.peek() != '-' || cursor_.peek(1) == ']') {
        codes.add(first);
        continue;
      }
      cursor_.skip(1);
      if (cursor_.at_end()) return cursor_.error_at(begin, "unclosed class");
      TRY(const text::CodeSet last, class_item());
      TRY(const text::CodeRange range, range_of(first, last));
      codes.add(range.first, range.last);
    }
    cursor_.skip(1);
    return codes_of(negated ? text::CodeSet::all_codes().without(codes) : codes);
  }

  Result<text::CodeSet> class_item() {
    if (cursor_.peek() == '\\') return escaped(/*in_class=*/true);
    const char32_t code = cursor_.take_code();
    return text::CodeSet{{code, code}};
  }

  Result<text::CodeRange> range_of(const text::CodeSet& first, const text::CodeSet& last) const {
    const auto single = [](const text::CodeSet& codes) {
      return codes.ranges().size() == 1 && codes.ranges()[0].first == codes.ranges()[0].last;
    };
    if (!single(first) || !single(last)) return cursor_.error("a range whose end is a class,");
    const text::CodeRange range{first.ranges()[0].first, last.ranges()[0].first};
    if (range.first > range.last) return cursor_.error("a range that is out of order,");
    return range;
  }

  PatternCursor cursor_;
  Budget& budget_;
};

}  // namespace

Result<Expression> parse_regex(std::string_view pattern, const std::string& path, Budget& budget) {
  if (pattern.size() > budget.limits().text_bytes_max) {
    return invalid_argument(path + ": expected at most " +
                                std::to_string(budget.limits().text_bytes_max) + " bytes, got " +
                                std::to_string(pattern.size()),
                            path);
  }
  return RegexParser(pattern, path, budget).parse();
}

Result<Dfa> compile_regex(std::string_view pattern, RegexMatch match, Encoding encoding,
                          const std::string& path, Budget& budget) {
  budget.set_place(path);
  TRY(const Expression expression, parse_regex(pattern, path, budget));
  Nfa nfa;
  StateId from = Nfa::kStart;
  StateId to = Nfa::kAccept;
  if (match == RegexMatch::kAnywhere) {
    from = nfa.add_state();
    to = nfa.add_state();
    const Expression anything = repeated(codes_of(text::CodeSet::all_codes()), {0, -1});
    TRY_OK(add_expression(nfa, Nfa::kStart, anything, from, encoding, budget));
    TRY_OK(add_expression(nfa, to, anything, Nfa::kAccept, encoding, budget));
  }
  TRY_OK(add_expression(nfa, from, expression, to, encoding, budget));
  TRY(const Dfa dfa, determinize(resolve_anchors(std::move(nfa)), budget));
  return trim(dfa);
}

}  // namespace kantha::grammar
