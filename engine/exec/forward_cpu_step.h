#pragma once

#include <cstdint>
#include <span>

#include "engine/exec/forward_cpu_kv.h"
#include "engine/exec/forward_cpu_plan.h"
#include "engine/exec/forward_cpu_scratch.h"
#include "engine/exec/forward_cpu_weights.h"
#include "engine/ops/cpu/shared_stages.h"

namespace kantha::exec {

/// What a step works on; all of it outlives the step.
struct CpuStepContext {
  const CpuWeights& weights;
  const ops::cpu::KernelTable& kernels;
  ops::cpu::SharedStages& stages;
  CpuKvPages& kv;
  CpuScratch& scratch;
  const AttentionPlan& all;   ///< attention of all rows
  const AttentionPlan& last;  ///< attention of the logit rows, for the last layer
  const Batch& batch;
  std::span<float> logits;
  LogitNotes notes;  ///< empty: not wanted
};

/// Rows that go into a matrix.
struct InputRows {
  const float* from = nullptr;  ///< [count, cols]
  std::int64_t count = 0;
  const float* norm = nullptr;  ///< [cols] or null: taken as they are
  bool q8 = false;              ///< quantised too
  Grain grain;
  bool is_attention = false;  ///< attention's output, which lies in its place already
};

/// What becomes of a matrix's results on their way into the residual stream.
struct Projection {
  const ops::cpu::PackedMatrix& matrix;
  const float* bias = nullptr;  ///< [width] or null
  const float* norm = nullptr;  ///< [width] or null: added as they are
};

/// One thread's part of one step. Every thread of the pool goes through the same stages with the
/// same arguments; threads take matrix tiles, rows and attention items, never the terms of one sum,
/// so that the bits depend neither on their number nor on who takes what.
class CpuStep {
 public:
  CpuStep(const CpuStepContext& context, int thread);

  /// From token ids to logits.
  void run();

 private:
  // Stages, in order of use (forward_cpu_step.cc).
  void embed();
  void write_rotations(std::int64_t row, std::size_t rope);
  float* rotations(std::int64_t row, std::size_t rope) const {
    const auto ropes = static_cast<std::int64_t>(c_.weights.ropes.size());
    return scratch_.rotations +
           (row * ropes + static_cast<std::int64_t>(rope)) * 2 * (config_.head_size + 16);
  }
  void layer(std::int64_t index, bool is_last);
  void gather_last_rows();
  void prepare_many(const InputRows& in);
  Activations prepared(const InputRows& in);
  Activations prepared_place(const InputRows& in) const;
  void prepare_row(const InputRows& in, std::int64_t row, const Activations& to) const;
  void quantise(const float* row, std::int64_t count, const Activations& to, std::int64_t index,
                std::int64_t first_block = 0) const;
  void project(const Projection& to, const Activations& in, std::int64_t rows, float* x);
  void add_normalised(const Projection& from, std::int64_t rows, float* x);
  void gate_up(const CpuLayer& layer, const Activations& in, std::int64_t rows);
  void write_logits();
  void finish_logits(std::int64_t count, float* tile) const;
  void write_logit_blocks(const Activations& in, std::int64_t rows);
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
  void normalise_heads(const CpuLayer& layer, std::int64_t index);
  void rotate(std::int64_t index, float* values, std::int64_t row, std::int64_t first) const;
  void rotate_row(std::int64_t index, float* values, std::int64_t row, std::int64_t count) const;
  void attend(std::int64_t index, const AttentionPlan& plan);
  void attend_item(std::int64_t index, const AttentionPlan& plan, const AttentionItem& item);
  void set_visible(const AttentionPlan& plan, const AttentionItem& item, std::int64_t window,
                   std::int64_t first);
  void set_tiles(std::int64_t index, const AttentionItem& item, std::int64_t first_token,
                 std::int64_t hidden, std::int64_t tokens, ops::cpu::AttentionPiece& piece);

  /// Calls work() where the next stage is not done yet, and returns once it is.
  template <class Work>
  void stage(Work work);
  /// Inside a stage: takes units × runs of panels of `rows` tokens, visit(unit, first, last).
  template <class Visit>
  void for_each_panels(std::int64_t units, std::int64_t rows, Visit visit) const;
  /// Calls visit(unit, panel, tokens) for each panel of them.
  template <class Visit>
  void for_each_tile(std::int64_t units, std::int64_t rows, Visit visit) const;
  void gemm(const ops::cpu::PackedMatrix& matrix, std::int64_t group, const Activations& in,
            std::int64_t panel, std::int64_t tokens, float* tile) const;

  const CpuStepContext& c_;
  const model::LlamaConfig& config_;
  const ops::cpu::KernelTable& kernels_;
  CpuScratch& scratch_;
  ThreadScratch& own_;
  const int thread_;
  std::uint32_t next_stage_ = 0;
};

template <class Work>
void CpuStep::stage(Work work) {
  const std::uint32_t stage = next_stage_++;
  if (c_.stages.enter(stage)) {
    work();
    c_.stages.leave(stage);
  }
  c_.stages.wait(stage);
}

template <class Visit>
void CpuStep::for_each_panels(std::int64_t units, std::int64_t rows, Visit visit) const {
  using ops::cpu::kPanelTokens;
  // Panels are taken a few at a time: a few stay in the cache while all units pass over them.
  constexpr std::int64_t kPanelsAtOnce = 8;
  const std::int64_t panels = (rows + kPanelTokens - 1) / kPanelTokens;
  const std::int64_t chunks = (panels + kPanelsAtOnce - 1) / kPanelsAtOnce;
  c_.stages.take(thread_, units * chunks, [&](std::int64_t item) {
    const std::int64_t first = item / units * kPanelsAtOnce;
    visit(item % units, first, first + kPanelsAtOnce < panels ? first + kPanelsAtOnce : panels);
  });
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
