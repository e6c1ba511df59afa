#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Lengths of prompts and outputs as a mixture of lognormal distributions.
namespace kantha::sim {

/// exp of a normal distribution: half of the values are below `median`; `sigma` is the spread of
/// their logarithm, 0 = always the median.
struct LogNormalPart {
  double weight = 1;
  double median = 1;
  double sigma = 0;
};

/// Values are rounded and clamped into [min, max].
struct LengthMix {
  std::vector<LogNormalPart> parts;
  std::int32_t min = 1;
  std::int32_t max = 1 << 20;

  /// The draw number `counter` of `seed`; the same arguments give the same length.
  std::int32_t draw(std::uint64_t seed, std::uint64_t counter) const;
};

/// What the requests of a workload look like. The first `prefix_tokens` of a prompt are one of
/// `prefixes` texts (a system prompt), chosen evenly; 0 prefixes: nothing is shared.
struct RequestShape {
  LengthMix prompt;
  LengthMix output;
  std::int32_t prefixes = 0;
  std::int32_t prefix_tokens = 0;  ///< in front of the drawn prompt
};

LengthMix fixed_length(std::int32_t tokens);

/// Conversations as in ShareGPT. The parts are ours, chosen so that the means are those of the
/// vLLM paper (Kwon et al., "Efficient Memory Management for Large Language Model Serving with
/// PagedAttention", SOSP 2023, figure 11: prompt 161.31, output 337.99 tokens) with the wide
/// spread shown there: three of four prompts are a question of some 25 tokens, the rest carry a
/// pasted text; two of five answers are short, the rest long. Bounds as in vLLM's benchmark, which
/// drops what is under 4 or over 2,048 tokens.
RequestShape sharegpt_shape();

/// "sharegpt", or "PROMPT:OUTPUT" in tokens as "200:100"; each number a median, optionally with a
/// spread as in "200~0.8:100~0.5". kInvalidArgument names what is wrong.
Result<RequestShape> shape_from_text(std::string_view text);

}  // namespace kantha::sim
