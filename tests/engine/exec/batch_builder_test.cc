#include "engine/exec/batch_builder.h"

#include <gtest/gtest.h>

namespace kantha::exec {
namespace {

using testing::Test;

std::vector<std::int32_t> list(std::span<const std::int32_t> values) {
  return {values.begin(), values.end()};
}

class BatchBuilderTest : public Test {
 protected:
  sched::Sequence& add(std::vector<TokenId> tokens, std::int32_t computed) {
    sequences_.push_back(std::make_unique<sched::Sequence>(sched::GenerateSpec{}, nullptr, kv_));
    sched::Sequence& sequence = *sequences_.back();
    sequence.tokens = std::move(tokens);
    sequence.computed = computed;
    std::vector<cache::BlockCopy> copies;
    EXPECT_TRUE(sequence.blocks.prepare_write(0, sequence.wanted(), copies));
    return sequence;
  }

  cache::KvCache kv_{{.block_count = 16, .block_size = 4}};
  std::vector<std::unique_ptr<sched::Sequence>> sequences_;
  BatchBuilder builder_{4};
};

TEST_F(BatchBuilderTest, LaysGrantsOutRowByRow) {
  sched::Sequence& prefill = add({10, 11, 12, 13, 14, 15, 16}, 2);  // blocks 0 1
  sched::Sequence& decode = add({20, 21, 22, 23, 24}, 4);           // blocks 2 3
  sched::Sequence& chunk = add({30, 31, 32}, 0);                    // block 4
  sched::StepPlan plan;
  plan.grants = {{&prefill, 5}, {&decode, 1}, {&chunk, 2}};
  const Batch batch = builder_.build(plan);
  EXPECT_EQ(list(batch.token_ids), (std::vector<TokenId>{12, 13, 14, 15, 16, 24, 30, 31}));
  EXPECT_EQ(list(batch.positions), (std::vector<std::int32_t>{2, 3, 4, 5, 6, 4, 0, 1}));
  EXPECT_EQ(list(batch.slots), (std::vector<std::int32_t>{2, 3, 4, 5, 6, 12, 16, 17}));
  EXPECT_EQ(list(batch.row_starts), (std::vector<std::int32_t>{0, 5, 6, 8}));
  EXPECT_EQ(list(batch.logit_rows), (std::vector<std::int32_t>{4, 5})) << "the chunk has no logits";
  EXPECT_EQ(batch.block_table_stride, 2);
  ASSERT_EQ(batch.block_tables.size(), 6U);
  EXPECT_EQ(list(batch.block_tables.first(5)), (std::vector<BlockId>{0, 1, 2, 3, 4}));
}

TEST_F(BatchBuilderTest, LaysOutEveryGroupAfterTheOther) {
  cache::KvCache kv({.block_count = 16, .block_size = 4, .groups = {{}, {.window = 3}}});
  sched::Sequence first(sched::GenerateSpec{}, nullptr, kv);
  sched::Sequence second(sched::GenerateSpec{}, nullptr, kv);
  first.tokens = {10, 11, 12, 13, 14, 15, 16, 17, 18};
  second.tokens = {20, 21};
  std::vector<cache::BlockCopy> copies;
  ASSERT_TRUE(first.blocks.prepare_write(0, 8, copies));  // blocks 0 1, then 2 3
  first.computed = 8;
  first.blocks.publish(computed_tokens(first), 0);  // gives 2 back
  ASSERT_TRUE(first.blocks.prepare_write(8, 9, copies));
  ASSERT_TRUE(second.blocks.prepare_write(0, 2, copies));
  sched::StepPlan plan;
  plan.grants = {{&first, 1}, {&second, 2}};
  BatchBuilder builder(4, 2);
  const Batch batch = builder.build(plan);
  EXPECT_EQ(batch.group_count, 2);
  for (std::int32_t group = 0; group < 2; ++group) {
    const BlockId last = first.blocks.block(group, 2);
    const BlockId other = second.blocks.block(group, 0);
    EXPECT_EQ(list(batch.slots_of(group)),
              (std::vector<std::int32_t>{last * 4, other * 4, other * 4 + 1}));
    EXPECT_EQ(list(batch.table(group, 0)),
              (std::vector<BlockId>{group == 0 ? 0 : -1, first.blocks.block(group, 1), last}));
    EXPECT_EQ(batch.table(group, 1)[0], other);
  }
}

TEST_F(BatchBuilderTest, ReusesItsBuffers) {
  sched::Sequence& sequence = add({10, 11, 12, 13, 14, 15, 16}, 0);
  sched::StepPlan plan;
  plan.grants = {{&sequence, 7}};
  const TokenId* tokens = builder_.build(plan).token_ids.data();
  plan.grants = {{&sequence, 3}};
  EXPECT_EQ(builder_.build(plan).token_ids.data(), tokens);
}

}  // namespace
}  // namespace kantha::exec
