#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/forward.h"

namespace kantha::bench {

/// A Forward that computes nothing: bell-shaped logits that stay, with a peak that moves in each
/// step. Its cost is a few writes per row, so that what is left of a step is the engine's own.
class NullForward final : public exec::Forward {
 public:
  NullForward(std::int32_t vocabulary, std::int32_t rows_max, std::int32_t logit_rows_max)
      : vocabulary_(vocabulary), rows_max_(rows_max), logit_rows_max_(logit_rows_max) {}

  void run(const exec::Batch& batch, std::span<float> logits) override;
  void run_with_notes(const exec::Batch& batch, std::span<float> logits,
                      const exec::LogitNotes& notes) override;
  void copy_block(BlockId, BlockId) override {}
  std::int32_t vocabulary_size() const override { return vocabulary_; }
  std::int32_t rows_max() const override { return rows_max_; }
  std::int32_t logit_rows_max() const override { return logit_rows_max_; }

 private:
  /// A row's peak and what it hides.
  struct Peak {
    std::size_t token = 0;
    float hidden = 0;
  };
  void fill(std::span<float> row);
  void move_peak(std::span<float> row, std::size_t index);
  void update_block(std::span<const float> row, std::size_t index, std::size_t block);

  std::int32_t vocabulary_;
  std::int32_t rows_max_;
  std::int32_t logit_rows_max_;
  std::uint64_t steps_ = 0;
  std::vector<Peak> peaks_;     ///< one per row seen so far
  std::vector<float> maxima_;   ///< [rows seen so far, blocks]
  std::vector<float> sums_;     ///< [rows seen so far, blocks], at inverse_
  std::vector<float> inverse_;  ///< [rows seen so far] wanted for this step
};

}  // namespace kantha::bench
