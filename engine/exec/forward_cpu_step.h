#pragma once

#include <cstdint>
#include <span>

#include "engine/exec/forward_cpu_kv.h"
#include "engine/exec/forward_cpu_plan.h"
#include "engine/exec/forward_cpu_scratch.h"
#include "engine/exec/forward_cpu_weights.h"
#include "engine/ops/cpu/thread_pool.h"

namespace kantha::exec {

/// What a step works on; all of it outlives the step.
struct CpuStepContext {
  const CpuWeights& weights;
  const ops::cpu::KernelTable& kernels;
  ops::cpu::ThreadPool& pool;
  CpuKvPages& kv;
  CpuScratch& scratch;
  const AttentionPlan& all;   ///< attention of all rows
  const AttentionPlan& last;  ///< attention of the logit rows, for the last layer
  const Batch& batch;
  std::span<float> logits;
  LogitNotes notes;  ///< empty: not wanted
};

/// One thread's part of one step. Every thread of the pool runs the same stages with the same
/// arguments and meets the others at barriers; threads share out matrix tiles, rows and attention
/// items, never the terms of one sum, so that the bits do not depend on their number.
class CpuStep {
 public:
  CpuStep(const CpuStepContext& context, int thread);

  /// From token ids to logits.
  void run();

 private:
  // Stages, in order of use (forward_cpu_step.cc).
  void embed();
  void write_rotations(std::int64_t row);
  void layer(std::int64_t index, bool is_last);
  Activations normalise(const float* x, std::int64_t rows, const float* norm, bool q8, Grain grain);
  Activations quantise_attention(std::int64_t rows, bool q8);
  void quantise(const float* row, std::int64_t count, const Activations& to, std::int64_t index,
                std::int64_t first_block = 0) const;
  void project(const ops::cpu::PackedMatrix& matrix, const Activations& in, std::int64_t rows,
               float* x);
  void gate_up(const CpuLayer& layer, const Activations& in, std::int64_t rows);
  void write_logits();
  Activations ffn_activations() const {
    Activations ffn = scratch_.ffn;
    ffn.grain = kDownGrain;
    return ffn;
  }

  // Queries, keys, values and attention (forward_cpu_attention.cc).
  void query_key_value(const CpuLayer& layer, std::int64_t index, const Activations& in);
  std::int32_t slot_of(std::int64_t index, std::int64_t row) const;
  void write_key(std::int64_t index, std::int64_t row, std::int64_t first, std::int64_t count,
                 const float* values);
  void write_value(std::int64_t index, std::int64_t row, std::int64_t first, std::int64_t count,
                   const float* values);
  void rotate(float* values, std::int64_t row, std::int64_t first) const;
  void attend(std::int64_t index, const AttentionPlan& plan);
  void attend_item(std::int64_t index, const AttentionPlan& plan, const AttentionItem& item);
  void set_visible(const AttentionPlan& plan, const AttentionItem& item, std::int64_t window,
                   std::int64_t first);
  void set_tiles(std::int64_t index, const AttentionItem& item, std::int64_t first_token,
                 std::int64_t hidden, std::int64_t tokens, ops::cpu::AttentionPiece& piece);

  /// Calls visit(unit, first, last) for this thread's share of units × runs of panels of `rows`
  /// tokens.
  template <class Visit>
  void for_each_panels(std::int64_t units, std::int64_t rows, Visit visit) const;
  /// Calls visit(unit, panel, tokens) for each panel of them.
  template <class Visit>
  void for_each_tile(std::int64_t units, std::int64_t rows, Visit visit) const;
  /// This thread's share of [0, count).
  std::int64_t share_begin(std::int64_t count) const { return count * thread_ / threads_; }
  std::int64_t share_end(std::int64_t count) const { return count * (thread_ + 1) / threads_; }
  void gemm(const ops::cpu::PackedMatrix& matrix, std::int64_t group, const Activations& in,
            std::int64_t panel, std::int64_t tokens, float* tile) const;

  const CpuStepContext& c_;
  const model::LlamaConfig& config_;
  const ops::cpu::KernelTable& kernels_;
  CpuScratch& scratch_;
  ThreadScratch& own_;
  const int thread_;
  const int threads_;
};

template <class Visit>
void CpuStep::for_each_panels(std::int64_t units, std::int64_t rows, Visit visit) const {
  using ops::cpu::kPanelTokens;
  // Panels are taken a few at a time: a few stay in the cache while all units pass over them.
  constexpr std::int64_t kPanelsAtOnce = 8;
  const std::int64_t panels = (rows + kPanelTokens - 1) / kPanelTokens;
  const std::int64_t chunks = (panels + kPanelsAtOnce - 1) / kPanelsAtOnce;
  const std::int64_t end = share_end(units * chunks);
  for (std::int64_t item = share_begin(units * chunks); item < end; ++item) {
    const std::int64_t first = item / units * kPanelsAtOnce;
    visit(item % units, first, first + kPanelsAtOnce < panels ? first + kPanelsAtOnce : panels);
  }
}

template <class Visit>
void CpuStep::for_each_tile(std::int64_t units, std::int64_t rows, Visit visit) const {
  using ops::cpu::kPanelTokens;
  for_each_panels(units, rows, [&](std::int64_t unit, std::int64_t first, std::int64_t last) {
    for (std::int64_t panel = first; panel < last; ++panel) {
      const std::int64_t left = rows - panel * kPanelTokens;
      visit(unit, panel, left < kPanelTokens ? left : kPanelTokens);
    }
  });
}

}  // namespace kantha::exec
