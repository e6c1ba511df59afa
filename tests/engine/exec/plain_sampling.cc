#include "tests/engine/exec/plain_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace kantha::exec {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

void forbid(std::vector<double>& logits, TokenId token) {
  logits[static_cast<std::size_t>(token)] = kNothing;
}

void penalise(const PlainRow& row, const sched::LogitRules& rules, std::vector<double>& logits) {
  std::set<TokenId> seen(row.prompt.begin(), row.prompt.end());
  seen.insert(row.output.begin(), row.output.end());
  for (const TokenId token : seen) {
    double& logit = logits[static_cast<std::size_t>(token)];
    const double factor = double{rules.repetition_penalty};
    logit = logit > 0 ? logit / factor : logit * factor;
    const auto times = std::ranges::count(row.output, token);
    logit -= static_cast<double>(times) * double{rules.frequency_penalty};
    if (times > 0) logit -= double{rules.presence_penalty};
  }
}

/// The shortest prefix of `order` that weighs `need`, at least one.
void keep_prefix(std::vector<std::size_t>& order, const std::vector<double>& weight, double need) {
  double sum = 0;
  std::size_t kept = 0;
  while (kept < order.size() && sum < need) sum += weight[order[kept++]];
  order.resize(std::max<std::size_t>(kept, 1));
}

double mass(const std::vector<std::size_t>& order, const std::vector<double>& weight) {
  double sum = 0;
  for (const std::size_t i : order) sum += weight[i];
  return sum;
}

void keep_typical(std::vector<std::size_t>& order, const std::vector<double>& weight,
                  double typical_p) {
  const double total = mass(order, weight);
  const auto surprise = [&](std::size_t i) { return -std::log(weight[i] / total); };
  double entropy = 0;
  for (const std::size_t i : order) {
    if (weight[i] > 0) entropy += weight[i] / total * surprise(i);
  }
  std::ranges::sort(order, {},
                    [&](std::size_t i) { return std::pair(std::abs(surprise(i) - entropy), i); });
  keep_prefix(order, weight, typical_p * total);
}

}  // namespace

std::vector<double> plain_edit(const PlainRow& row, const sched::LogitRules& rules) {
  std::vector<double> logits = row.logits;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    const bool allowed =
        rules.allowed.empty() || std::ranges::find(rules.allowed, token) != rules.allowed.end();
    if (!allowed) forbid(logits, token);
  }
  for (const std::vector<TokenId>& word : rules.bad_words) {
    std::vector<TokenId> written = row.output;
    written.push_back(word.back());
    const bool complete = written.size() >= word.size() &&
                          std::equal(word.begin(), word.end(), written.end() - std::ssize(word));
    if (complete) forbid(logits, word.back());
  }
  for (const TokenId token : row.masked) forbid(logits, token);
  for (const sched::TokenBias& bias : rules.bias) {
    logits[static_cast<std::size_t>(bias.token)] += double{bias.bias};
  }
  penalise(row, rules, logits);
  return logits;
}

std::vector<double> plain_distribution(std::span<const double> logits,
                                       const sched::SamplingParams& sampling) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-logits[i], i); });
  std::vector<double> weight(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    weight[i] = std::exp((logits[i] - logits[order[0]]) / double{sampling.temperature});
  }
  if (sampling.top_k > 0) {
    order.resize(std::min(order.size(), static_cast<std::size_t>(sampling.top_k)));
  }
  keep_prefix(order, weight, double{sampling.top_p} * mass(order, weight));
  std::erase_if(order, [&](auto i) { return weight[i] < double{sampling.min_p}; });
  if (sampling.typical_p < 1) keep_typical(order, weight, double{sampling.typical_p});
  std::vector<double> distribution(logits.size(), 0);
  const double total = mass(order, weight);
  for (const std::size_t i : order) distribution[i] = weight[i] / total;
  return distribution;
}

}  // namespace kantha::exec
