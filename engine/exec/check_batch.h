#pragma once

#include "engine/exec/forward.h"

namespace kantha::exec {

/// What a Forward holds a batch against.
struct BatchLimits {
  KvShape kv;
  std::int32_t rows_max = 0;
  std::int32_t logit_rows_max = 0;
  std::int32_t vocabulary = 0;
  std::span<const cache::KvGroup> groups = kFullAttention;
};

/// CHECKs that the arrays of a batch fit together and every id in them is in range: a wrong batch
/// is a scheduler's bug and must not read or write somebody else's keys. Every row finds a block
/// for each position that it attends to, in each group. `logit_count` is what run() was given room
/// for, in floats. No allocation; any thread.
void check_batch(const Batch& batch, const BatchLimits& limits, std::size_t logit_count);

}  // namespace kantha::exec
