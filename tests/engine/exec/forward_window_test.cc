#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "engine/exec/batch_builder.h"
#include "engine/exec/forward_factory.h"
#include "tests/engine/exec/forward_cpu_driver.h"
#include "tests/engine/exec/forward_cpu_tiny_model.h"

/// Models with sliding windows, run through the real cache: blocks that left a window are gone, and
/// no way of computing a sequence changes a bit of it.
namespace kantha::exec {
namespace {

using MakeForward = Result<std::unique_ptr<Forward>> (*)(const model::LlamaModel&,
                                                         const ForwardOptions&);

constexpr std::int32_t kTokens = 320;  // attention is cut at 256

model::LlamaConfig config(std::int32_t window, std::vector<std::uint8_t> windowed) {
  return {.layers = 3,
          .width = 64,
          .heads = 4,
          .kv_heads = 2,
          .head_size = 16,
          .ffn_width = 96,
          .vocabulary = 53,
          .context = 512,
          .rope_dims = 16,
          .sliding_window = window,
          .windowed = std::move(windowed)};
}

/// A forward and a cache with its groups.
class Device {
 public:
  Device(MakeForward make, const model::LlamaModel& model, std::int32_t block_size,
         std::int32_t threads, std::int32_t block_count = 0)
      : Device(make, model,
               {.kv = {.block_size = block_size,
                       .block_count = block_count > 0 ? block_count : 3000 / block_size + 40},
                .rows_max = kTokens,
                .logit_rows_max = kTokens,
                .threads = threads}) {}

  /// Computes [s.computed, end) of one sequence, `chunk` tokens a step; logits of every row.
  void compute(sched::Sequence& s, std::int32_t end, std::int32_t chunk,
               std::vector<float>& logits) {
    const auto vocabulary = static_cast<std::size_t>(forward_->vocabulary_size());
    while (s.computed < end) {
      const std::int32_t count = std::min(chunk, end - s.computed);
      std::vector<cache::BlockCopy> copies = std::move(copies_);
      copies_.clear();
      ASSERT_TRUE(s.blocks.prepare_write(s.computed, s.computed + count, copies));
      for (const cache::BlockCopy& copy : copies) forward_->copy_block(copy.from, copy.to);
      sched::StepPlan plan;
      plan.grants = {{&s, count}};
      Batch batch = builder_.build(plan);
      std::vector<std::int32_t> rows;
      for (std::int32_t row = 0; row < count; ++row) rows.push_back(row);
      batch.logit_rows = rows;
      std::vector<float> step(rows.size() * vocabulary);
      forward_->run(batch, step);
      logits.insert(logits.end(), step.begin(), step.end());
      s.computed += count;
      s.blocks.publish(computed_tokens(s), 0);
      ASSERT_TRUE(kv_.check_integrity().ok());
    }
  }

  std::unique_ptr<sched::Sequence> sequence(std::uint64_t seed = 1) {
    auto s = std::make_unique<sched::Sequence>(sched::GenerateSpec{}, nullptr, kv_);
    s->tokens = random_tokens(kTokens, 53, seed);
    return s;
  }
  /// Takes what the cache knows of the first `count` tokens.
  void adopt(sched::Sequence& s, std::int32_t count) {
    const auto head = std::span<const TokenId>(s.tokens).first(static_cast<std::size_t>(count));
    const cache::PrefixHit hit = kv_.find(head, 0);
    s.blocks.adopt(hit, copies_);
    s.computed = hit.tokens;
  }
  cache::KvCache& kv() { return kv_; }

 private:
  Device(MakeForward make, const model::LlamaModel& model, const ForwardOptions& options)
      : forward_(make(model, options).value()),
        kv_({.block_count = options.kv.block_count,
             .block_size = options.kv.block_size,
             .groups = {forward_->groups().begin(), forward_->groups().end()}}),
        builder_(options.kv.block_size, kv_.group_count()) {}

  std::unique_ptr<Forward> forward_;
  cache::KvCache kv_;
  BatchBuilder builder_;
  std::vector<cache::BlockCopy> copies_;
};

struct Kind {
  const char* name;
  MakeForward make;
  ops::DType type;
  std::int32_t window;
  std::vector<std::uint8_t> windowed;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

class ForwardWindow : public testing::TestWithParam<Kind> {
 protected:
  ForwardWindow()
      : tiny_(config(GetParam().window, GetParam().windowed), TinyTypes::all(GetParam().type)) {
    Device device(GetParam().make, tiny_.model(), 16, 1);
    device.compute(*device.sequence(), kTokens, 1, truth_);
  }

  /// `logits` are those of the last rows.
  void expect_truth(const std::vector<float>& logits) const {
    ASSERT_LE(logits.size(), truth_.size());
    EXPECT_EQ(std::memcmp(logits.data(), truth_.data() + truth_.size() - logits.size(),
                          logits.size() * sizeof(float)),
              0);
  }

  TinyModel tiny_;
  std::vector<float> truth_;
};

TEST_P(ForwardWindow, equals_a_dense_pass_with_the_same_mask) {
  if (GetParam().type != ops::DType::kF32) return;  // rounded otherwise: compared in bits only
  const std::vector<double> dense = tiny_.dense_logits(random_tokens(kTokens, 53, 1));
  ASSERT_EQ(dense.size(), truth_.size());
  double worst = 0;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    worst = std::max(worst, std::abs(dense[i] - truth_[i]) / (1 + std::abs(dense[i])));
  }
  // A mask that is off by one is off by 0.3 and more.
  EXPECT_LT(worst, GetParam().make == make_forward_ref ? 1e-4 : 0.02) << "f16 keys and values";
}

TEST_P(ForwardWindow, chunks_block_sizes_and_threads_do_not_matter) {
  for (const std::int32_t block_size : {1, 5, 16, 64}) {
    for (const std::int32_t chunk : {7, 64, kTokens}) {
      SCOPED_TRACE(testing::Message() << "blocks of " << block_size << ", chunks of " << chunk);
      Device device(GetParam().make, tiny_.model(), block_size, chunk == 64 ? 2 : 1);
      std::vector<float> logits;
      device.compute(*device.sequence(), kTokens, chunk, logits);
      expect_truth(logits);
    }
  }
}

TEST_P(ForwardWindow, hits_do_not_matter) {
  for (const std::int32_t known : {1, 15, 16, 100, 270, 319}) {
    for (const std::int32_t block_size : {5, 16}) {
      SCOPED_TRACE(testing::Message() << known << " known, blocks of " << block_size);
      Device device(GetParam().make, tiny_.model(), block_size, 1);
      std::vector<float> logits;
      {
        const auto first = device.sequence();
        device.compute(*first, known, 50, logits);
        first->blocks.clear(computed_tokens(*first), 0);
      }
      logits.clear();
      const auto second = device.sequence();
      device.adopt(*second, kTokens);
      EXPECT_GE(second->computed, known - 1);
      device.compute(*second, kTokens, 33, logits);
      expect_truth(logits);
    }
  }
}

TEST_P(ForwardWindow, a_fork_of_the_prompt_has_the_same_bits) {
  Device device(GetParam().make, tiny_.model(), 16, 1);
  std::vector<float> logits;
  const auto first = device.sequence();
  device.compute(*first, 300, 77, logits);
  const auto fork = device.sequence();
  fork->blocks.share(first->blocks, 299);
  fork->computed = 299;
  logits.clear();
  device.compute(*fork, kTokens, 9, logits);
  expect_truth(logits);
  logits.clear();
  device.compute(*first, kTokens, 1, logits);
  expect_truth(logits);
}

TEST_P(ForwardWindow, a_pool_that_could_not_hold_the_sequence_whole_is_enough) {
  const std::int32_t block_size = 16;
  Device large(GetParam().make, tiny_.model(), block_size, 1);
  const std::int32_t count = cache::blocks_for(large.kv().options(), kTokens, 20);
  Device device(GetParam().make, tiny_.model(), block_size, 1, count);
  std::vector<float> logits;
  for (const std::uint64_t seed : {9U, 1U}) {  // the second in used blocks
    logits.clear();
    const auto s = device.sequence(seed);
    device.compute(*s, kTokens, 20, logits);
  }
  expect_truth(logits);
}

INSTANTIATE_TEST_SUITE_P(
    , ForwardWindow,
    testing::Values(Kind{"ref_mixed", make_forward_ref, ops::DType::kF32, 24, {1, 0, 1}},
                    Kind{"cpu_mixed", make_forward_cpu, ops::DType::kF32, 24, {1, 0, 1}},
                    Kind{"cpu_mixed_q8", make_forward_cpu, ops::DType::kQ8_0, 37, {1, 1, 0}},
                    Kind{"cpu_everywhere", make_forward_cpu, ops::DType::kF32, 40, {}},
                    Kind{"cpu_longer_than_a_piece", make_forward_cpu, ops::DType::kF32, 270, {}},
                    Kind{"cpu_one", make_forward_cpu, ops::DType::kF32, 1, {0, 1, 1}},
                    Kind{"cpu_none", make_forward_cpu, ops::DType::kF32, 0, {}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kantha::exec
