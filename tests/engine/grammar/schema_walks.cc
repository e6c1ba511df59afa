#include <iostream>
#include <string>

#include "tests/engine/grammar/random_walk.h"
#include "tests/engine/grammar/small_lexicon.h"

// For schema_walks_test.py. Reads lines {"schema": …, "walks": n, "seed": s, "texts": […]} and
// answers each with {"error": …, "field": …} or {"walks": […], "accepted": […]}.
namespace kantha::grammar {
namespace {

Json answer(const OrderedJson& order) {
  const auto grammar = compile(json_schema(order["schema"], "schema"), joint_lexicon());
  if (!grammar.ok()) {
    return {{"error", grammar.error().message}, {"field", grammar.error().field}};
  }
  std::mt19937_64 random(order["seed"].get<std::uint64_t>());
  Json reply{{"walks", Json::array()}, {"accepted", Json::array()}};
  for (int i = 0; i < order["walks"].get<int>(); ++i) {
    GrammarState state(*grammar);
    const auto text = random_answer(state, random, 40);
    // A walk that is still open is not held against it, a dead end is.
    if (text) reply["walks"].push_back(*text);
    if (!text && tokens_in(mask_of(state)).empty()) reply["walks"].push_back(nullptr);
  }
  for (const OrderedJson& text : order["texts"]) {
    reply["accepted"].push_back(is_answer(*grammar, text.get<std::string>()));
  }
  return reply;
}

}  // namespace
}  // namespace kantha::grammar

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto order = kantha::parse_ordered_json(line);
    if (!order.ok()) return 1;
    std::cout << kantha::dump_json(kantha::grammar::answer(*order)) << '\n';
  }
}
