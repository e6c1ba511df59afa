#include <atomic>
#include <string>
#include <utility>

#include "engine/exec/check_batch.h"
#include "engine/exec/forward_cpu_kv.h"
#include "engine/exec/forward_cpu_plan.h"
#include "engine/exec/forward_cpu_scratch.h"
#include "engine/exec/forward_cpu_step.h"
#include "engine/exec/forward_cpu_weights.h"
#include "engine/exec/forward_factory.h"
#include "engine/ops/cpu/cpu_features.h"

namespace kantha::exec {
namespace {

/// Owns what a step works on and lays out each step before the threads run it.
class ForwardCpu final : public Forward {
 public:
  ForwardCpu(const ForwardOptions& options, const ops::cpu::KernelTable& kernels,
             std::unique_ptr<ops::cpu::ThreadPool> pool, CpuWeights weights, CpuKvPages kv,
             CpuScratch scratch)
      : options_(options),
        kernels_(kernels),
        pool_(std::move(pool)),
        stages_(pool_->threads()),
        weights_(std::move(weights)),
        kv_(std::move(kv)),
        scratch_(std::move(scratch)) {
    all_.reserve(options.rows_max, weights_.config.kv_heads);
    last_.reserve(options.logit_rows_max, weights_.config.kv_heads);
  }

  void run(const Batch& batch, std::span<float> logits) override { run_step(batch, logits, {}); }
  void run_with_notes(const Batch& batch, std::span<float> logits,
                      const LogitNotes& notes) override {
    check_notes(notes, batch.logit_rows.size(), static_cast<std::size_t>(vocabulary_size()));
    run_step(batch, logits, notes);
  }

  void copy_block(BlockId from, BlockId to) override { kv_.copy_block(from, to); }
  std::span<const cache::KvGroup> groups() const override { return kv_.layout().groups; }
  std::int32_t vocabulary_size() const override { return weights_.config.vocabulary; }
  std::int32_t hidden_size() const override { return weights_.config.width; }
  std::int32_t rows_max() const override { return options_.rows_max; }
  std::int32_t logit_rows_max() const override { return options_.logit_rows_max; }
  int threads() const override { return pool_->threads(); }

 protected:
  void share_out(std::int32_t count, void* context, ItemTask task) override {
    if (count < 2) return Forward::share_out(count, context, task);
    std::atomic<std::int32_t> taken = 0;
    auto work = [&](int thread) {
      for (;;) {
        const std::int32_t item = taken.fetch_add(1, std::memory_order_relaxed);
        if (item >= count) return;
        task(context, item, thread);
      }
    };
    pool_->run_open(work);
  }

 private:
  void run_step(const Batch& batch, std::span<float> logits, const LogitNotes& notes) {
    const model::LlamaConfig& config = weights_.config;
    const BatchLimits limits{options_.kv, options_.rows_max, options_.logit_rows_max,
                             config.vocabulary, kv_.layout().groups};
    check_batch(batch, limits, logits.size());
    if (batch.token_ids.empty()) return;
    const std::int32_t rows_per_item = attention_rows_per_item(config);
    all_.set_all(batch, rows_per_item, config.kv_heads);
    last_.set_logit_rows(batch, rows_per_item, config.kv_heads);
    stages_.reset();
    const CpuStepContext context{weights_, kernels_, stages_, kv_,    scratch_,
                                 all_,     last_,    batch,   logits, notes};
    auto step = [&context](int thread) { CpuStep(context, thread).run(); };
    pool_->run_open(step);
    if (!notes.states.empty()) write_states(batch, notes.states);
  }

  /// The logit rows once more through the last norm: they are few, and rarely asked for.
  void write_states(const Batch& batch, std::span<float> states) const {
    const auto width = static_cast<std::size_t>(hidden_size());
    CHECK(states.size() == batch.logit_rows.size() * width, "states [S, hidden_size]");
    for (std::size_t row = 0; row < batch.logit_rows.size(); ++row) {
      kernels_.rmsnorm_row(scratch_.x_logits + row * width, weights_.output_norm, hidden_size(),
                           weights_.config.norm_epsilon, states.data() + row * width);
    }
  }

  const ForwardOptions options_;
  const ops::cpu::KernelTable& kernels_;
  std::unique_ptr<ops::cpu::ThreadPool> pool_;
  ops::cpu::SharedStages stages_;
  CpuWeights weights_;
  CpuKvPages kv_;
  CpuScratch scratch_;
  AttentionPlan all_;
  AttentionPlan last_;
};

Status check_at_least_1(const char* field, std::int64_t value) {
  if (value >= 1) return ok_status();
  return invalid_argument(
      std::string(field) + ": expected at least 1, got " + std::to_string(value), field);
}

}  // namespace

Result<std::unique_ptr<Forward>> make_forward_cpu(const model::LlamaModel& model,
                                                  const ForwardOptions& options) {
  TRY(const ops::cpu::KernelTable* kernels, ops::cpu::choose_kernels_here());
  TRY_OK(check_at_least_1("rows_max", options.rows_max));
  TRY_OK(check_at_least_1("logit_rows_max", options.logit_rows_max));
  TRY_OK(check_at_least_1("threads", options.threads));
  TRY_OK(check_model(model));
  auto pool = std::make_unique<ops::cpu::ThreadPool>(options.threads);
  TRY(auto kv, CpuKvPages::allocate(model.config, options.kv));
  TRY(auto scratch, CpuScratch::allocate(model.config, options));
  TRY(auto weights, pack_weights(model, *pool, options));
  return std::unique_ptr<Forward>(std::make_unique<ForwardCpu>(
      options, *kernels, std::move(pool), std::move(weights), std::move(kv), std::move(scratch)));
}

std::int64_t kv_block_bytes_cpu(const model::LlamaConfig& config, std::int32_t block_size) {
  return CpuKvPages::block_bytes(config, block_size);
}

}  // namespace kantha::exec
