#include <string>

#include "engine/exec/forward_cpu_plan.h"

#include <gtest/gtest.h>

namespace kantha::exec {
namespace {

/// "sequence:first+count@head …" of a plan's items.
std::string spell(const AttentionPlan& plan) {
  std::string text;
  for (const AttentionItem& item : plan.items) {
    text += std::to_string(item.sequence) + ":" + std::to_string(item.first) + "+" +
            std::to_string(item.count) + "@" + std::to_string(item.kv_head) + " ";
  }
  return text;
}

struct Case {
  const char* name;
  std::vector<std::int32_t> row_starts;
  std::vector<std::int32_t> logit_rows;
  std::int32_t rows_per_item;
  std::int32_t kv_heads;
  const char* all;
  const char* last;
};

const Case kCases[] = {
    {"one decode", {0, 1}, {0}, 4, 2, "0:0+1@0 0:0+1@1 ", "0:0+1@0 0:0+1@1 "},
    {"a prefill is cut", {0, 6}, {5}, 4, 1, "0:0+4@0 0:4+2@0 ", "0:0+1@0 "},
    {"sequences do not mix", {0, 2, 5}, {1, 4}, 4, 1, "0:0+2@0 1:2+3@0 ", "0:0+1@0 1:1+1@0 "},
    {"sequences without rows are passed",
     {0, 0, 2, 2, 3},
     {0, 2},
     4,
     1,
     "1:0+2@0 3:2+1@0 ",
     "1:0+1@0 3:1+1@0 "},
    {"logit rows of one sequence attend together",
     {0, 6},
     {0, 3, 5},
     2,
     1,
     "0:0+2@0 0:2+2@0 0:4+2@0 ",
     "0:0+2@0 0:2+1@0 "},
    {"no logits", {0, 1}, {}, 4, 1, "0:0+1@0 ", ""},
};

TEST(AttentionPlan, cuts_rows_by_sequence_size_and_head) {
  for (const Case& c : kCases) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(c.row_starts.back()));
    Batch batch;
    batch.token_ids = rows;
    batch.row_starts = c.row_starts;
    batch.logit_rows = c.logit_rows;
    AttentionPlan plan;
    plan.set_all(batch, c.rows_per_item, c.kv_heads);
    EXPECT_EQ(spell(plan), c.all) << c.name;
    plan.set_logit_rows(batch, c.rows_per_item, c.kv_heads);
    EXPECT_EQ(spell(plan), c.last) << c.name;
    EXPECT_EQ(plan.rows, c.logit_rows) << c.name;
  }
}

}  // namespace
}  // namespace kantha::exec
