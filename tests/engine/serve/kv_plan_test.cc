#include "engine/serve/kv_plan.h"

#include <gtest/gtest.h>

namespace kantha::serve {
namespace {

constexpr std::int64_t kMi = 1 << 20;

struct PlanCase {
  const char* name;
  std::int32_t context_max;
  std::int64_t kv_bytes;
  KvFacts facts;
  std::int32_t context;  // 0: an error
  std::int32_t blocks;
};

const PlanCase kCases[] = {
    {"window is the model's", 0, 64 * kMi, {2048, kMi, 1024 * kMi}, 2048, 64},
    {"window is at most 8192 by default", 0, 64 * kMi, {131072, kMi, 1024 * kMi}, 8192, 64},
    {"a larger window may be asked for", 16384, 64 * kMi, {131072, kMi, 1024 * kMi}, 16384, 64},
    {"but not more than the model has", 4096, 64 * kMi, {2048, kMi, 1024 * kMi}, 0, 0},
    {"nor less than a prompt and an answer", 0, 64 * kMi, {1, kMi, 1024 * kMi}, 0, 0},
    {"pool is what the sequences need", 1024, 0, {8192, 1000, 1 << 30}, 1024, 64 * 64},
    {"counting typical lengths only", 8192, 0, {8192, 1000, 1 << 30}, 8192, 64 * 128},
    {"and at most a quarter of the memory", 8192, 0, {8192, kMi, 1024 * kMi}, 8192, 256},
    {"a pool beyond the memory is refused", 0, 2048 * kMi, {2048, kMi, 1024 * kMi}, 0, 0},
    {"a pool of nothing is refused", 0, 3 * kMi, {2048, kMi, 1024 * kMi}, 0, 0},
};

TEST(KvPlan, FollowsFromConfigModelAndMachine) {
  for (const PlanCase& c : kCases) {
    SCOPED_TRACE(c.name);
    EngineConfig config;
    config.context_max = c.context_max;
    config.kv_bytes = c.kv_bytes;
    const auto plan = plan_kv(config, c.facts);
    ASSERT_EQ(plan.ok(), c.context != 0);
    if (!plan.ok()) continue;
    EXPECT_EQ(plan->context_max, c.context);
    EXPECT_EQ(plan->block_count, c.blocks);
    EXPECT_EQ(plan->bytes, c.blocks * c.facts.block_bytes);
  }
}

}  // namespace
}  // namespace kantha::serve
