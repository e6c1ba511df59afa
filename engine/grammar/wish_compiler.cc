#include "engine/grammar/wish_compiler.h"

#include <algorithm>
#include <utility>

#include "engine/grammar/dfa.h"
#include "engine/grammar/expression.h"
#include "engine/grammar/gbnf_parser.h"
#include "engine/grammar/json_rules.h"
#include "engine/grammar/regex_parser.h"
#include "engine/grammar/schema_compiler.h"

namespace kantha::grammar {
namespace {

using Kind = Wish::Kind;

class WishCompiler {
 public:
  WishCompiler(const Lexicon& lexicon, RuleSet& rules, Budget& budget)
      : lexicon_(lexicon),
        rules_(rules),
        budget_(budget),
        spaced_(rules, /*compact=*/false),
        compact_(rules, /*compact=*/true) {}

  Result<RuleId> compile(const Wish& wish) {
    const RuleId root = rules_.add(wish.path.empty() ? "answer" : wish.path);
    Nfa nfa;
    TRY_OK(add(nfa, Nfa::kStart, wish, Nfa::kAccept, 0));
    rules_.set(root, std::move(nfa));
    return root;
  }

 private:
  // NOLINTBEGIN(misc-no-recursion): the depth is limited
  Status add(Nfa& nfa, StateId from, const Wish& wish, StateId to, std::size_t depth) {
    if (!wish.path.empty()) budget_.set_place(wish.path);
    TRY_OK(budget_.check_depth(depth, place()));
    TRY_OK(budget_.work(wish.text.size() + 4));
    TRY_OK(budget_.check_states(nfa.size() / 4));
    JsonRules& json = wish.compact ? compact_ : spaced_;
    switch (wish.kind) {
      case Kind::kJsonValue: nfa.add_call(from, json.value(), to); break;
      case Kind::kJsonObject: nfa.add_call(from, json.object(), to); break;
      case Kind::kSchema: return add_schema(nfa, from, wish, json, to);
      case Kind::kRegex: return add_regex(nfa, from, wish, to);
      case Kind::kGbnf: return add_gbnf(nfa, from, wish, to);
      case Kind::kLiteral: nfa.add_text(from, wish.text, to); break;
      case Kind::kControlToken: return add_control_token(nfa, from, wish, to);
      case Kind::kTextWithout: return add_text_without(nfa, from, wish, to);
      case Kind::kSequence: return add_sequence(nfa, from, wish, to, depth);
      case Kind::kOneOf:
        if (wish.parts.empty()) {
          return invalid_argument(place() + ": expected at least one choice, got none", place());
        }
        for (const Wish& part : wish.parts) TRY_OK(add(nfa, from, part, to, depth + 1));
        break;
      case Kind::kRepeat: return add_repeat(nfa, from, wish, to, depth);
    }
    return ok_status();
  }

  Status add_sequence(Nfa& nfa, StateId from, const Wish& wish, StateId to, std::size_t depth) {
    for (const Wish& part : wish.parts) {
      const StateId next = nfa.add_state();
      TRY_OK(add(nfa, from, part, next, depth + 1));
      from = next;
    }
    nfa.add_empty(from, to);
    return ok_status();
  }

  Status add_repeat(Nfa& nfa, StateId from, const Wish& wish, StateId to, std::size_t depth) {
    CHECK(wish.parts.size() == 1 && wish.count_min >= 0 && wish.count_max >= -1, "a wish of ours");
    const std::int32_t count = std::max(wish.count_min, wish.count_max);
    TRY_OK(budget_.check_repeats(static_cast<std::size_t>(count), place()));
    // The part is written once, as a rule of its own.
    const RuleId rule = rules_.add("repeated");
    Nfa part;
    TRY_OK(add(part, Nfa::kStart, wish.parts.front(), Nfa::kAccept, depth + 1));
    rules_.set(rule, std::move(part));
    for (std::int32_t i = 0; i < count; ++i) {
      if (i >= wish.count_min) nfa.add_empty(from, to);
      const StateId next = nfa.add_state();
      nfa.add_call(from, rule, next);
      from = next;
    }
    if (wish.count_max < 0) {
      const StateId loop = nfa.add_state();
      nfa.add_empty(from, loop);
      nfa.add_call(loop, rule, loop);
      from = loop;
    }
    nfa.add_empty(from, to);
    return ok_status();
  }
  // NOLINTEND(misc-no-recursion)

  Status add_schema(Nfa& nfa, StateId from, const Wish& wish, JsonRules& json, StateId to) {
    SchemaCompiler compiler(wish.schema, place(), json, budget_);
    TRY(const RuleId rule, compiler.compile());
    nfa.add_call(from, rule, to);
    return ok_status();
  }

  Status add_regex(Nfa& nfa, StateId from, const Wish& wish, StateId to) {
    TRY(const Dfa dfa,
        compile_regex(wish.text, RegexMatch::kWhole, Encoding::kPlain, place(), budget_));
    embed(dfa, nfa, from, to);
    return ok_status();
  }

  Status add_gbnf(Nfa& nfa, StateId from, const Wish& wish, StateId to) {
    TRY(const RuleId rule, parse_gbnf(wish.text, place(), rules_, budget_));
    nfa.add_call(from, rule, to);
    return ok_status();
  }

  Status add_control_token(Nfa& nfa, StateId from, const Wish& wish, StateId to) {
    if (!lexicon_.has_control_token(wish.text)) {
      return invalid_argument(place() + ": the model has no control token \"" + wish.text + "\"",
                              place());
    }
    const StateId name = nfa.add_state();
    const StateId end = nfa.add_state();
    nfa.add_bytes(from, kControlMark, kControlMark, name);
    nfa.add_text(name, wish.text, end);
    nfa.add_bytes(end, kControlMark, kControlMark, to);
    return ok_status();
  }

  Status add_text_without(Nfa& nfa, StateId from, const Wish& wish, StateId to) {
    const Expression anything = repeated(codes_of(text::CodeSet::all_codes()), {0, -1});
    Nfa all;
    TRY_OK(add_expression(all, Nfa::kStart, anything, Nfa::kAccept, Encoding::kPlain, budget_));
    TRY(const Dfa text, determinize(all, budget_));
    Nfa with;
    const StateId found = with.add_state();
    with.add_bytes(Nfa::kStart, 0, 255, Nfa::kStart);
    for (const std::string& part : wish.texts) with.add_text(Nfa::kStart, part, found);
    with.add_bytes(found, 0, 255, found);
    with.add_empty(found, Nfa::kAccept);
    TRY(const Dfa bad, determinize(with, budget_));
    TRY(const Dfa good, difference(text, bad, budget_));
    embed(good, nfa, from, to);
    return ok_status();
  }

  const std::string& place() const { return budget_.place(); }

  const Lexicon& lexicon_;
  RuleSet& rules_;
  Budget& budget_;
  JsonRules spaced_;
  JsonRules compact_;
};

}  // namespace

Result<RuleId> compile_wish(const Wish& wish, const Lexicon& lexicon, RuleSet& rules,
                            Budget& budget) {
  return WishCompiler(lexicon, rules, budget).compile(wish);
}

}  // namespace kantha::grammar
