#include "bench/engine/null_forward.h"

#include "base/rng.h"

namespace kantha::bench {
namespace {

constexpr float kPeak = 14;

}  // namespace

/// A sum of uniforms: bell-shaped with a deviation of about 2.5, as a model's logits are.
void NullForward::fill(std::span<float> row) {
  const std::uint64_t seed = peaks_.size() + 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    double sum = 0;
    for (std::uint64_t k = 0; k < 4; ++k) sum += random_unit(seed, i * 4 + k) - 0.5;
    row[i] = static_cast<float>(sum * 4.3);
  }
}

void NullForward::move_peak(std::span<float> row, std::size_t index) {
  Peak& peak = peaks_[index];
  row[peak.token] = peak.hidden;
  peak.token = random_bits(steps_, index) % row.size();
  peak.hidden = row[peak.token];
  row[peak.token] = kPeak;
}

void NullForward::run(const exec::Batch& batch, std::span<float> logits) {
  ++steps_;
  const auto vocabulary = static_cast<std::size_t>(vocabulary_);
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const auto row = logits.subspan(i * vocabulary, vocabulary);
    if (i == peaks_.size()) {
      fill(row);
      peaks_.push_back({.token = 0, .hidden = row[0]});
    }
    move_peak(row, i);
  }
}

}  // namespace kantha::bench
