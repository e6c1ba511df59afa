#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/serve/engine_config.h"

/// How large the window and the KV pool become. Pure.
namespace kantha::serve {

/// What the plan follows from.
struct KvFacts {
  std::int32_t model_context = 0;  ///< positions that the model was trained for
  std::int64_t block_bytes = 0;    ///< memory of one block of config.block_size tokens
  std::int64_t memory_bytes = 0;   ///< what this process's cgroup may use
};

struct KvPlan {
  std::int32_t context_max = 0;  ///< tokens of prompt + output
  std::int32_t block_count = 0;
  std::int64_t bytes = 0;
};

/// The window is maxModelLen, or min(model's context, 8192). The pool is kvCacheMemory, or what
/// maxNumSeqs requests of min(window, 2048) tokens need, at most a quarter of the memory.
/// kInvalidArgument, with both numbers, when the window is larger than the model's or the pool does
/// not hold 4 blocks or does not fit in the memory at all.
Result<KvPlan> plan_kv(const EngineConfig& config, const KvFacts& facts);

}  // namespace kantha::serve
