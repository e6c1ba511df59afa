#include "tests/engine/grammar/fuzz_targets.h"

#include "base/check.h"
#include "tests/engine/grammar/random_walk.h"
#include "tests/engine/grammar/small_lexicon.h"

namespace kantha::grammar {
namespace {

void walk(const Wish& wish) {
  static const auto lexicon = joint_lexicon();
  const Limits limits{.text_bytes_max = 16u << 10,
                      .depth_max = 24,
                      .repeats_max = 200,
                      .states_max = 4000,
                      .rules_max = 300,
                      .work_max = 400'000};
  const auto grammar = compile(wish, lexicon, limits);
  if (!grammar.ok()) {
    CHECK(grammar.error().code == Code::kInvalidArgument, "the client's error");
    CHECK(grammar.error().field.starts_with("w"), "the wish's path");
    CHECK(grammar.error().message.starts_with("w"), "the wish's path");
    return;
  }
  std::mt19937_64 random(wish.text.size());
  GrammarState state(*grammar);
  for (int step = 0; step < 12 && !state.is_finished(); ++step) {
    const std::vector<TokenId> tokens = tokens_in(mask_of(state));
    if (state.is_overrun()) return;
    CHECK(!tokens.empty() || state.is_complete(), "no dead end");
    if (tokens.empty()) return;
    CHECK(state.accept(tokens[random() % tokens.size()]) || state.is_overrun(), "as the mask says");
  }
}

}  // namespace

void fuzz_schema(std::string_view text) {
  auto schema = parse_ordered_json(text);
  if (schema.ok()) walk(json_schema(*std::move(schema), "w"));
}

void fuzz_regex(std::string_view pattern) { walk(regex(std::string(pattern), "w")); }

void fuzz_gbnf(std::string_view source) { walk(gbnf(std::string(source), "w")); }

std::vector<std::string> schema_corpus() {
  return {
      R"({"type":"object","properties":{"a":{"type":"integer","minimum":-3,"maximum":250},"b":{"type":
         "string","pattern":"^[a-c]+$","maxLength":5}},"required":["a"],"additionalProperties":false})",
      R"({"anyOf":[{"type":"array","items":{"$ref":"#"},"maxItems":3},{"enum":[1,"a",null]}]})",
      R"({"$defs":{"n":{"oneOf":[{"type":"null"},{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}]}},
         "allOf":[{"$ref":"#/$defs/n"},{"type":"object"}],"patternProperties":{"^x":{"type":"number",
         "exclusiveMinimum":0.5}},"minProperties":0})",
      R"({"type":"string","format":"date-time"})",
      R"({"prefixItems":[{"const":{"a":[1]}},{"type":"number","multipleOf":3}],"items":false})"};
}

std::vector<std::string> regex_corpus() {
  return {R"(^(a|b\d{2,3}[^x-z]\w)*(?:q|\u00e9)+?$)", R"([a-f]{0,5}$|^.)",
          R"((x(y(z)?)*)+\.\/[\d\-]{3})"};
}

std::vector<std::string> gbnf_corpus() {
  return {"root ::= a (\",\" a)* | \"x\"{2,3}\na ::= [a-z^]+ root? | \"\\n\\\"\" # c\n",
          "root ::= (b | \"[\" root \"]\")* .\nb ::= [^0-9]{1,4} | \"é\" b"};
}

}  // namespace kantha::grammar
