#pragma once

#include <cstdint>
#include <string>

#include "bench/load/workload.h"

/// Prompts of about a wanted number of tokens, from a list of common short English words, which
/// nearly every tokenizer of today keeps whole. Pure. Any thread.
namespace kantha::bench {

/// How words become tokens on one server, measured before the run.
struct TokenRatio {
  double tokens_per_word = 1.1;
  double tokens_beside = 0;  ///< chat template and begin mark
  std::string source = "assumed";
};

/// `count` words for (seed, index), the same for the same arguments.
std::string random_words(std::uint64_t seed, std::uint64_t index, int count);

/// The index-th prompt of that shape: words of its prefix, then words of its own; at least one.
std::string prompt_text(std::uint64_t seed, std::uint64_t index, const RequestShape& shape,
                        const TokenRatio& ratio);

}  // namespace kantha::bench
