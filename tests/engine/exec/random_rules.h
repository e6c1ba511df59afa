#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "engine/sched/logit_rules.h"

namespace kantha::exec {

/// Rules for a random request, null for two of three: penalties that follow its tokens, biases,
/// allowed tokens and bad words, which always leave something to draw.
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
  return rules;
}

}  // namespace kantha::exec
