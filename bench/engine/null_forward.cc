#include "bench/engine/null_forward.h"

#include <algorithm>

#include "base/rng.h"
#include "engine/exec/row_kernels.h"

namespace kantha::bench {
namespace {

constexpr float kPeak = 16;

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

void NullForward::update_block(std::span<const float> row, std::size_t index, std::size_t block) {
  const std::size_t start = block * exec::kLogitBlock;
  const auto logits = row.subspan(start, std::min(exec::kLogitBlock, row.size() - start));
  const std::size_t place = index * exec::logit_blocks(row.size()) + block;
  maxima_[place] = exec::block_maximum(logits);
  sums_[place] = exec::block_weight(logits, maxima_[place], inverse_[index]);
}

void NullForward::move_peak(std::span<float> row, std::size_t index) {
  Peak& peak = peaks_[index];
  row[peak.token] = peak.hidden;
  update_block(row, index, peak.token / exec::kLogitBlock);
  peak.token = random_bits(steps_, index) % row.size();
  peak.hidden = row[peak.token];
  row[peak.token] = kPeak;
  update_block(row, index, peak.token / exec::kLogitBlock);
}

void NullForward::run(const exec::Batch& batch, std::span<float> logits) {
  ++steps_;
  const auto vocabulary = static_cast<std::size_t>(vocabulary_);
  const std::size_t blocks = exec::logit_blocks(vocabulary);
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const auto row = logits.subspan(i * vocabulary, vocabulary);
    if (i == peaks_.size()) {
      fill(row);
      peaks_.push_back({.token = 0, .hidden = row[0]});
      maxima_.resize(peaks_.size() * blocks);
      sums_.resize(maxima_.size());
      inverse_.resize(peaks_.size());
      for (std::size_t block = 0; block < blocks; ++block) update_block(row, i, block);
    }
    move_peak(row, i);
  }
}

void NullForward::run_with_notes(const exec::Batch& batch, std::span<float> logits,
                                 const exec::LogitNotes& notes) {
  const auto vocabulary = static_cast<std::size_t>(vocabulary_);
  const std::size_t blocks = exec::logit_blocks(vocabulary);
  run(batch, logits);
  for (std::size_t i = 0; i < batch.logit_rows.size(); ++i) {
    if (inverse_[i] == notes.inverse_temperatures[i]) continue;
    inverse_[i] = notes.inverse_temperatures[i];
    for (std::size_t block = 0; block < blocks; ++block) {
      update_block(logits.subspan(i * vocabulary, vocabulary), i, block);
    }
  }
  std::copy_n(maxima_.begin(), notes.maxima.size(), notes.maxima.begin());
  std::copy_n(sums_.begin(), notes.sums.size(), notes.sums.begin());
}

}  // namespace kantha::bench
