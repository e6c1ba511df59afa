#pragma once

#include "engine/text/tokenizer.h"

/// How long masks take over a whole vocabulary.
namespace kantha::grammar {

/// Fills masks along `answers` random answers of each of several wishes, prints the times for
/// docs/structured-output.md, and expects nine in ten of each to take at most `most_us` (where a
/// sanitizer runs: a hundred times that). The rest is the machine's as much as ours.
void expect_quick_masks(const text::Tokenizer& tokenizer, int answers, double most_us);

}  // namespace kantha::grammar
