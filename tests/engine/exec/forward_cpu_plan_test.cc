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

/// A batch of two rows in blocks of 4 that is right until spoilt.
struct Fixture {
  std::vector<TokenId> tokens{1, 2};
  std::vector<std::int32_t> positions{4, 5}, slots{4, 5}, starts{0, 2}, logit_rows{1};
  std::vector<BlockId> tables{0, 1};

  void check() const {
    check_batch({tokens, positions, slots, starts, tables, 2, logit_rows}, {4, 2}, 10, 2, 1);
  }
};

struct Spoil {
  const char* note;
  void (*spoil)(Fixture&);
};

const Spoil kSpoils[] = {
    {"token id", [](Fixture& f) { f.tokens[1] = 10; }},
    {"token id", [](Fixture& f) { f.tokens[0] = -1; }},
    {"slot", [](Fixture& f) { f.slots[1] = 8; }},
    {"block id", [](Fixture& f) { f.tables[1] = 2; }},
    {"block table covers", [](Fixture& f) { f.positions[1] = 8; }},
    {"row_starts end", [](Fixture& f) { f.starts[1] = 1; }},
    {"logit row", [](Fixture& f) { f.logit_rows[0] = 2; }},
    {"rows_max", [](Fixture& f) { f.tokens.push_back(1); }},
};

TEST(CheckBatchDeathTest, ends_the_process_on_each_kind_of_bad_batch) {
  Fixture().check();
  for (const Spoil& s : kSpoils) {
    Fixture fixture;
    s.spoil(fixture);
    EXPECT_DEATH(fixture.check(), s.note);
  }
}

}  // namespace
}  // namespace kantha::exec
