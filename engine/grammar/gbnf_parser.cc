#include "engine/grammar/gbnf_parser.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "engine/grammar/expression.h"
#include "engine/grammar/pattern_cursor.h"

namespace kantha::grammar {
namespace {

using Kind = Expression::Kind;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view source, const std::string& path, RuleSet& rules, Budget& budget)
      : cursor_(source, path), rules_(rules), budget_(budget) {}

  Result<RuleId> parse() {
    skip_space();
    while (!cursor_.at_end()) TRY_OK(rule());
    for (const auto& [name, known] : names_) {
      if (!known.defined) {
        return cursor_.error_at(known.offset, "\"" + name + "\" is used and not defined, first");
      }
    }
    const auto root = names_.find("root");
    if (root != names_.end()) return root->second.id;
    return invalid_argument(cursor_.path() + ": there is no rule \"root\"", cursor_.path());
  }

 private:
  struct Known {
    RuleId id = 0;
    bool defined = false;
    std::size_t offset = 0;  ///< where it was first met
  };

  void skip_space() {
    while (!cursor_.at_end()) {
      const char c = cursor_.peek();
      if (c == '#') {
        while (!cursor_.at_end() && cursor_.peek() != '\n') cursor_.skip(1);
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        cursor_.skip(1);
      } else {
        break;
      }
    }
  }

  std::string_view take_name() {
    const std::size_t begin = cursor_.offset();
    while (is_name(cursor_.peek())) cursor_.skip(1);
    return cursor_.since(begin);
  }

  /// A name and `::=` are here.
  bool at_rule() {
    const std::size_t begin = cursor_.offset();
    const bool named = !take_name().empty();
    while (cursor_.peek() == ' ' || cursor_.peek() == '\t') cursor_.skip(1);
    const bool found = named && cursor_.starts_with("::=");
    cursor_.go_back_to(begin);
    return found;
  }

  Known& known(std::string_view name, std::size_t offset) {
    const auto [at, fresh] = names_.try_emplace(std::string(name));
    if (fresh) at->second = {.id = rules_.add(std::string(name)), .offset = offset};
    return at->second;
  }

  Status rule() {
    const std::size_t begin = cursor_.offset();
    if (!at_rule()) return cursor_.error("expected a rule, NAME ::= …,");
    Known& self = known(take_name(), begin);
    TRY_OK(budget_.check_rules(rules_.size()));
    if (std::exchange(self.defined, true))
      return cursor_.error_at(begin, "a rule is defined twice");
    const RuleId id = self.id;
    skip_space();
    cursor_.skip(3);
    TRY(const Expression body, alternatives(0));
    if (!cursor_.at_end() && !at_rule()) return unexpected();
    Nfa nfa;
    TRY_OK(add_expression(nfa, Nfa::kStart, body, Nfa::kAccept, Encoding::kPlain, budget_));
    rules_.set(id, std::move(nfa));
    return ok_status();
  }

  Error unexpected() const {
    return cursor_.error(std::string("unexpected '") + cursor_.peek() + "'");
  }

  // NOLINTBEGIN(misc-no-recursion): the depth is limited
  Result<Expression> alternatives(std::size_t depth) {
    TRY_OK(budget_.check_depth(depth, cursor_.path()));
    Expression result{.kind = Kind::kOneOf};
    do {
      TRY(Expression part, sequence(depth));
      result.parts.push_back(std::move(part));
    } while (cursor_.take("|"));
    return result;
  }

  Result<Expression> sequence(std::size_t depth) {
    Expression result{.kind = Kind::kSequence};
    while (true) {
      skip_space();
      TRY_OK(budget_.work(4));
      const char c = cursor_.peek();
      if (cursor_.at_end() || c == '|' || c == ')' || at_rule()) return result;
      TRY(Expression part, item(depth));
      TRY(const auto repeats, quantifier());
      if (repeats) part = repeated(std::move(part), *repeats);
      result.parts.push_back(std::move(part));
    }
  }

  Result<Expression> item(std::size_t depth) {
    const char c = cursor_.peek();
    if (c == '"') return literal();
    if (c == '[') return character_class();
    if (c == '(') return group(depth);
    if (c == '.') {
      cursor_.skip(1);
      return codes_of(text::CodeSet::all_codes());
    }
    if (is_name(c)) {
      const std::size_t begin = cursor_.offset();
      const Known& rule = known(take_name(), begin);
      return Expression{.kind = Kind::kRule, .rule = rule.id};
    }
    return unexpected();
  }

  Result<Expression> group(std::size_t depth) {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    TRY(Expression inner, alternatives(depth + 1));
    if (!cursor_.take(")")) return cursor_.error_at(begin, "unclosed group");
    return inner;
  }
  // NOLINTEND(misc-no-recursion)

  Result<std::optional<Repeats>> quantifier() {
    if (cursor_.take("*")) return std::optional(Repeats{0, -1});
    if (cursor_.take("+")) return std::optional(Repeats{1, -1});
    if (cursor_.take("?")) return std::optional(Repeats{0, 1});
    const std::size_t begin = cursor_.offset();
    if (!cursor_.take("{")) return std::optional<Repeats>();
    const auto from = number();
    Repeats repeats{from.value_or(0), from.value_or(0)};
    if (cursor_.take(",")) repeats.max = number().value_or(-1);
    const bool ordered = repeats.max < 0 || repeats.min <= repeats.max;
    if (!from || !ordered || !cursor_.take("}")) {
      return cursor_.error_at(begin, "expected {n}, {n,} or {n,m}");
    }
    TRY_OK(budget_.check_repeats(static_cast<std::size_t>(std::max(repeats.min, repeats.max)),
                                 cursor_.path()));
    return std::optional(repeats);
  }

  std::optional<std::int32_t> number() {
    while (cursor_.peek() == ' ') cursor_.skip(1);
    const std::size_t from = cursor_.offset();
    while (cursor_.peek() >= '0' && cursor_.peek() <= '9') cursor_.skip(1);
    const std::string_view digits = cursor_.since(from);
    while (cursor_.peek() == ' ') cursor_.skip(1);
    if (digits.empty()) return std::nullopt;
    std::int32_t value = std::numeric_limits<std::int32_t>::max();
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }

  /// A code point, escaped or not, inside of a literal or a class.
  Result<char32_t> code() {
    if (!cursor_.take("\\")) return cursor_.take_code();
    if (cursor_.at_end()) return cursor_.error("a backslash at the end");
    const char32_t letter = cursor_.take_code();
    switch (letter) {
      case 'n': return U'\n';
      case 'r': return U'\r';
      case 't': return U'\t';
      case 'x': return cursor_.take_hex(2);
      case 'u': return cursor_.take_hex(4);
      case 'U': return cursor_.take_hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return letter;
      default: return cursor_.error("unknown escape");
    }
  }

  Result<Expression> literal() {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    Expression result{.kind = Kind::kSequence};
    while (!cursor_.take("\"")) {
      if (cursor_.at_end()) return cursor_.error_at(begin, "unclosed literal");
      TRY_OK(budget_.work(4));
      TRY(const char32_t c, code());
      result.parts.push_back(codes_of({{c, c}}));
    }
    return result;
  }

  Result<Expression> character_class() {
    const std::size_t begin = cursor_.offset();
    cursor_.skip(1);
    const bool negated = cursor_.take("^");
    text::CodeSet codes;
    while (!cursor_.take("]")) {
      if (cursor_.at_end()) return cursor_.error_at(begin, "unclosed class");
      TRY_OK(budget_.work(8));
      TRY(const char32_t low, code());
      char32_t high = low;
      if (cursor_.peek() == '-' && cursor_.peek(1) != ']') {
        cursor_.skip(1);
        if (cursor_.at_end()) return cursor_.error_at(begin, "unclosed class");
        TRY(high, code());
      }
      if (low > high) return cursor_.error("a range that is out of order,");
      codes.add(low, high);
    }
    return codes_of(negated ? text::CodeSet::all_codes().without(codes) : codes);
  }

  PatternCursor cursor_;
  RuleSet& rules_;
  Budget& budget_;
  std::map<std::string, Known> names_;
};

}  // namespace

Result<RuleId> parse_gbnf(std::string_view source, const std::string& path, RuleSet& rules,
                          Budget& budget) {
  budget.set_place(path);
  if (source.size() > budget.limits().text_bytes_max) {
    return invalid_argument(path + ": expected at most " +
                                std::to_string(budget.limits().text_bytes_max) + " bytes, got " +
                                std::to_string(source.size()),
                            path);
  }
  return GbnfParser(source, path, rules, budget).parse();
}

}  // namespace kantha::grammar
