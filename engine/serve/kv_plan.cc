#include "engine/serve/kv_plan.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.h"

namespace kantha::serve {
namespace {

constexpr std::int32_t kContextDefault = 8192;
constexpr std::int32_t kContextMin = 2;
constexpr std::int64_t kTypicalTokens = 2048;
constexpr std::int64_t kBlocksMin = 4;

/// Bytes that every sequence slot with a typical request would use.
std::int64_t wanted_bytes(const EngineConfig& config, const KvFacts& facts, std::int32_t context) {
  const std::int64_t tokens = std::min<std::int64_t>(context, kTypicalTokens);
  const std::int64_t blocks_each = (tokens + config.block_size - 1) / config.block_size;
  const std::int64_t wanted = blocks_each * config.sequences_max * facts.block_bytes;
  return std::min(wanted, facts.memory_bytes / 4);
}

}  // namespace

Result<KvPlan> plan_kv(const EngineConfig& config, const KvFacts& facts) {
  CHECK(facts.model_context > 0 && facts.block_bytes > 0, "a loaded model");
  KvPlan plan;
  plan.context_max =
      config.context_max > 0 ? config.context_max : std::min(facts.model_context, kContextDefault);
  if (plan.context_max > facts.model_context) {
    return invalid_argument("engine.maxModelLen: expected at most the model's context of " +
                                std::to_string(facts.model_context) + " tokens, got " +
                                std::to_string(plan.context_max),
                            "engine.maxModelLen");
  }
  if (plan.context_max < kContextMin) {
    return invalid_argument("engine.maxModelLen: expected at least " + std::to_string(kContextMin) +
                                " tokens, for a prompt and an answer, got " +
                                std::to_string(plan.context_max),
                            "engine.maxModelLen");
  }
  const std::int64_t budget =
      config.kv_bytes > 0 ? config.kv_bytes : wanted_bytes(config, facts, plan.context_max);
  if (budget > facts.memory_bytes) {
    return invalid_argument("engine.kvCacheMemory: " + std::to_string(budget) +
                                " bytes are more than this process may use (" +
                                std::to_string(facts.memory_bytes) + " bytes)",
                            "engine.kvCacheMemory");
  }
  const std::int64_t blocks = budget / facts.block_bytes;
  if (blocks < kBlocksMin) {
    return invalid_argument("engine.kvCacheMemory: " + std::to_string(budget) +
                                " bytes hold fewer than 4 blocks of " +
                                std::to_string(facts.block_bytes) + " bytes",
                            "engine.kvCacheMemory");
  }
  // Slots (block * block_size + offset) are int32 in the batch arrays.
  const std::int64_t blocks_max = std::numeric_limits<std::int32_t>::max() / config.block_size;
  plan.block_count = static_cast<std::int32_t>(std::min(blocks, blocks_max));
  plan.bytes = plan.block_count * facts.block_bytes;
  return plan;
}

}  // namespace kantha::serve
