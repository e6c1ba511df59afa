#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/forward.h"
#include "engine/sched/scheduler.h"

/// From a step's plan to the flat arrays that a Forward reads.
namespace kantha::exec {

/// Owns the arrays that its Batch points into; they are reused, and nothing is allocated once the
/// largest step has been seen. The engine thread owns it.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::int32_t block_size, std::int32_t groups = 1)
      : block_size_(block_size), groups_(groups) {}

  /// The plan's grants in order, one sequence each; CHECKs that there are some. The batch is valid
  /// until the next call. logit_rows has the last row of each grant that samples.
  Batch build(const sched::StepPlan& plan);

 private:
  void add(const sched::Grant& grant);
  void add_slots(const sched::Grant& grant, std::int32_t group);
  void fill_tables(const sched::StepPlan& plan);

  std::int32_t block_size_;
  std::int32_t groups_;
  std::vector<TokenId> token_ids_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> slots_;
  std::vector<std::int32_t> row_starts_;
  std::vector<std::int32_t> logit_rows_;
  std::vector<BlockId> block_tables_;
  std::int32_t stride_ = 0;
};

}  // namespace kantha::exec
