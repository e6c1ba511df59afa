#include "engine/exec/batch_builder.h"

#include <algorithm>

namespace kantha::exec {

Batch BatchBuilder::build(const sched::StepPlan& plan) {
  CHECK(!plan.grants.empty(), "a batch has rows");
  token_ids_.clear();
  positions_.clear();
  slots_.clear();
  logit_rows_.clear();
  row_starts_.assign(1, 0);
  for (const sched::Grant& grant : plan.grants) add(grant);
  for (std::int32_t group = 0; group < groups_; ++group) {
    for (const sched::Grant& grant : plan.grants) add_slots(grant, group);
  }
  fill_tables(plan);
  return {.token_ids = token_ids_,
          .positions = positions_,
          .slots = slots_,
          .row_starts = row_starts_,
          .block_tables = block_tables_,
          .block_table_stride = stride_,
          .logit_rows = logit_rows_,
          .group_count = groups_};
}

void BatchBuilder::add(const sched::Grant& grant) {
  const sched::Sequence& sequence = *grant.sequence;
  const std::int32_t end = sequence.computed + grant.tokens;
  CHECK(grant.tokens > 0 && end <= sequence.wanted(), "a grant stays within what is known");
  const sched::ScoredRows scored = sched::scored_rows(grant);
  for (std::int32_t position = sequence.computed; position < end; ++position) {
    if (position >= scored.begin && position < scored.end) {
      logit_rows_.push_back(static_cast<std::int32_t>(token_ids_.size()));
    }
    token_ids_.push_back(sequence.tokens[static_cast<std::size_t>(position)]);
    positions_.push_back(position);
  }
  const auto rows = static_cast<std::int32_t>(token_ids_.size());
  if (grant.samples()) logit_rows_.push_back(rows - 1);
  row_starts_.push_back(rows);
}

void BatchBuilder::add_slots(const sched::Grant& grant, std::int32_t group) {
  const sched::Sequence& sequence = *grant.sequence;
  const std::int32_t end = sequence.computed + grant.tokens;
  std::int32_t slot = 0;
  for (std::int32_t position = sequence.computed; position < end; ++position) {
    const bool new_block = position == sequence.computed || position % block_size_ == 0;
    slot = new_block ? sequence.blocks.slot(group, position) : slot + 1;
    slots_.push_back(slot);
  }
}

void BatchBuilder::fill_tables(const sched::StepPlan& plan) {
  stride_ = 0;
  for (const sched::Grant& grant : plan.grants) {
    stride_ = std::max(stride_, grant.sequence->blocks.rows());
  }
  block_tables_.resize(static_cast<std::size_t>(groups_) * plan.grants.size() *
                       static_cast<std::size_t>(stride_));
  BlockId* row = block_tables_.data();
  for (std::int32_t group = 0; group < groups_; ++group) {
    for (const sched::Grant& grant : plan.grants) {
      const cache::SequenceBlocks& blocks = grant.sequence->blocks;
      for (std::int32_t i = 0; i < blocks.rows(); ++i) row[i] = blocks.block(group, i);
      row += stride_;
    }
  }
}

}  // namespace kantha::exec
