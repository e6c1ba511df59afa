#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/grammar/grammar.h"
#include "engine/sched/logit_rules.h"

namespace kantha::exec {

/// A grammar that never ends an answer: a letter of the first half, then one of the second, and so
/// on; tokens are one or two letters. An answer may end after each second letter.
inline std::shared_ptr<const grammar::Grammar> endless_grammar(std::int32_t vocabulary) {
  std::vector<std::string> spellings;
  for (std::int32_t id = 0; id < vocabulary; ++id) {
    spellings.emplace_back(1, static_cast<char>('a' + id % 26));
    if (id >= 26) spellings.back() += static_cast<char>('a' + id % 19);
  }
  const auto lexicon = std::make_shared<const grammar::Lexicon>(spellings);
  auto compiled = grammar::compile(grammar::regex("([a-m][n-z])*", "r"), lexicon);
  CHECK(compiled.ok(), "the test's grammar is right");
  return *compiled;
}

/// Rules for a random request, null for two of three: penalties that follow its tokens, biases,
/// allowed tokens, bad words and a grammar, which always leave something to draw.
inline std::shared_ptr<const sched::LogitRules> random_rules(std::mt19937_64& random,
                                                             std::int32_t vocabulary) {
  if (random() % 3 > 0) return nullptr;
  const auto unit = [&] { return static_cast<float>(random() % 1001) / 1000; };
  const auto token = [&] {
    return static_cast<TokenId>(random() % static_cast<std::uint64_t>(vocabulary));
  };
  auto rules = std::make_shared<sched::LogitRules>();
  if (random() % 2 == 0) rules->repetition_penalty = 0.7F + unit();
  if (random() % 2 == 0) rules->presence_penalty = 4 * unit() - 2;
  if (random() % 2 == 0) rules->frequency_penalty = 4 * unit() - 2;
  if (random() % 3 == 0) rules->bias = {{token(), 10 * unit() - 5}};
  if (random() % 4 == 0) {
    for (TokenId id = static_cast<TokenId>(random() % 2); id < vocabulary; id += 2) {
      rules->allowed.push_back(id);
    }
  }
  if (random() % 4 == 0) rules->bad_words = {{token()}, {token(), token()}};
  // By itself: a bad word may be all that a grammar leaves.
  if (rules->allowed.empty() && rules->bad_words.empty() && random() % 2 == 0) {
    rules->grammar = endless_grammar(vocabulary);
  }
  return rules;
}

}  // namespace kantha::exec
