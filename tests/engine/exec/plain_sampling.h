#pragma once

#include <span>
#include <vector>

#include "engine/sched/generate_spec.h"

/// What the sampler's distributions are, in plain loops and double precision: the truth that the
/// fast path is held against. It is itself held against figures of numpy and transformers.
namespace kantha::exec {

/// A row and what its request's rules depend on.
struct PlainRow {
  std::vector<double> logits;
  std::vector<TokenId> prompt = {};
  std::vector<TokenId> output = {};
  std::vector<TokenId> masked = {};
};

/// The logits after the rules: allowed, bad words, masked, biases, repetition, frequency, presence.
std::vector<double> plain_edit(const PlainRow& row, const sched::LogitRules& rules);

/// Probabilities after temperature, top_k, top_p, min_p and typical_p, by full sorts.
std::vector<double> plain_distribution(std::span<const double> logits,
                                       const sched::SamplingParams& sampling);

}  // namespace kantha::exec
