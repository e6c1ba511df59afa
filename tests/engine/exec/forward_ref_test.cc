#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/rng.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/model_from_bytes.h"
#include "tests/fake/gguf_writer.h"

/// What Forward guarantees, on a tiny model: paging, chunking and company change no bit.
namespace kantha::exec {
namespace {

constexpr std::int32_t kBlockSize = 4;
constexpr std::int32_t kBlockCount = 32;
constexpr std::int32_t kStride = 16;

struct Tiny {
  explicit Tiny(const fake::TinyLlama& shape = {}) : bytes(fake::tiny_llama(shape)) {
    auto result = model::model_from_bytes(bytes);
    CHECK(result.ok(), "the tiny model loads");
    loaded = std::move(result).value();
  }

  std::unique_ptr<Forward> make(KvShape kv = {kBlockSize, kBlockCount}) const {
    auto forward = make_forward_ref(loaded.llama, {.kv = kv, .rows_max = 64, .logit_rows_max = 64});
    CHECK(forward.ok(), "the options are good");
    return std::move(forward).value();
  }

  fake::Bytes bytes;
  model::LoadedModel loaded;
};

std::vector<TokenId> random_ids(std::uint64_t seed, std::size_t count) {
  std::vector<TokenId> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<TokenId>(random_bits(seed, i) % 320);
  return ids;
}

std::vector<BlockId> table_from(BlockId first) {
  std::vector<BlockId> table(kStride);
  std::iota(table.begin(), table.end(), first);
  return table;
}

/// Rows [begin, end) of one sequence.
struct Part {
  std::span<const TokenId> ids;
  std::span<const BlockId> table;  ///< [kStride]
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Logits of every row of one mixed batch: [T, vocabulary].
std::vector<float> run(Forward& forward, std::span<const Part> parts,
                       std::int32_t block_size = kBlockSize) {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> row_starts = {0};
  std::vector<BlockId> tables;
  for (const Part& part : parts) {
    for (std::int32_t p = part.begin; p < part.end; ++p) {
      ids.push_back(part.ids[static_cast<std::size_t>(p)]);
      positions.push_back(p);
      slots.push_back(part.table[static_cast<std::size_t>(p / block_size)] * block_size +
                      p % block_size);
    }
    row_starts.push_back(static_cast<std::int32_t>(ids.size()));
    tables.insert(tables.end(), part.table.begin(), part.table.end());
  }
  std::vector<std::int32_t> logit_rows(ids.size());
  std::iota(logit_rows.begin(), logit_rows.end(), 0);
  std::vector<float> logits(ids.size() * static_cast<std::size_t>(forward.vocabulary_size()));
  forward.run({.token_ids = ids,
               .positions = positions,
               .slots = slots,
               .row_starts = row_starts,
               .block_tables = tables,
               .block_table_stride = static_cast<std::int32_t>(parts.front().table.size()),
               .logit_rows = logit_rows},
              logits);
  return logits;
}

std::vector<float> run_whole(const Tiny& tiny, std::span<const TokenId> ids) {
  const auto forward = tiny.make();
  const auto table = table_from(0);
  const Part whole = {ids, table, 0, static_cast<std::int32_t>(ids.size())};
  return run(*forward, {&whole, 1});
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(ForwardRef, LogitsDependOnEveryEarlierTokenAndNoLaterOne) {
  const Tiny tiny;
  std::vector<TokenId> ids = random_ids(1, 20);
  const auto before = run_whole(tiny, ids);
  ids[10] = (ids[10] + 1) % 320;
  const auto after = run_whole(tiny, ids);
  const auto row = [](const std::vector<float>& logits, std::size_t r) {
    return std::span(logits).subspan(r * 320, 320);
  };
  for (std::size_t r = 0; r < 20; ++r) {
    EXPECT_EQ(same_bits(row(before, r), row(after, r)), r < 10) << "row " << r;
  }
}

TEST(ForwardRef, PositionsMatter) {
  const Tiny tiny;
  const auto logits = run_whole(tiny, std::vector<TokenId>{5, 6, 5, 6, 5, 6});
  const auto rows = std::span(logits);
  EXPECT_FALSE(same_bits(rows.subspan(3 * 320, 320), rows.subspan(5 * 320, 320)));
}

TEST(ForwardRef, ChunksGiveTheBitsOfTheWhole) {
  const Tiny tiny;
  const std::vector<TokenId> ids = random_ids(2, 29);
  const auto whole = run_whole(tiny, ids);
  for (const std::int32_t chunk : {1, 2, 3, 4, 7, 28}) {
    const auto forward = tiny.make();
    const auto table = table_from(0);
    std::vector<float> logits;
    for (std::int32_t begin = 0; begin < 29; begin += chunk) {
      const Part part = {ids, table, begin, std::min(29, begin + chunk)};
      const auto rows = run(*forward, {&part, 1});
      logits.insert(logits.end(), rows.begin(), rows.end());
    }
    EXPECT_TRUE(same_bits(logits, whole)) << "chunks of " << chunk;
  }
}

TEST(ForwardRef, BlockPlacementAndSizeChangeNoBit) {
  const Tiny tiny;
  const std::vector<TokenId> ids = random_ids(3, 30);
  const auto whole = run_whole(tiny, ids);
  const std::vector<BlockId> shuffled = {31, 3, 17, 0, 8, 25, 1, 30, 2, 4, 5, 6, 7, 9, 10, 11};
  const auto forward = tiny.make();
  const Part part = {ids, shuffled, 0, 30};
  EXPECT_TRUE(same_bits(run(*forward, {&part, 1}), whole));

  const auto one_block = tiny.make({.block_size = 64, .block_count = 1});
  const std::vector<BlockId> single = {0};
  const Part dense = {ids, single, 0, 30};
  EXPECT_TRUE(same_bits(run(*one_block, {&dense, 1}, 64), whole)) << "one block of 64 is dense";
}

TEST(ForwardRef, CompanyChangesNoBit) {
  const Tiny tiny({.type = ops::DType::kQ4_1});
  const std::vector<TokenId> a = random_ids(4, 24);
  const std::vector<TokenId> b = random_ids(5, 17);
  const auto a_alone = run_whole(tiny, a);
  const auto b_alone = run_whole(tiny, b);
  const auto a_table = table_from(16);
  const auto b_table = table_from(0);

  // a's first half with all but the last of b; then b's decode with a's second half.
  const auto forward = tiny.make();
  const Part first[] = {{a, a_table, 0, 13}, {b, b_table, 0, 16}};
  const Part second[] = {{b, b_table, 16, 17}, {a, a_table, 13, 24}};
  const auto one = run(*forward, first);
  const auto two = run(*forward, second);
  const auto all_a = std::span(a_alone);
  const auto all_b = std::span(b_alone);
  EXPECT_TRUE(same_bits(std::span(one).first(13 * 320), all_a.first(13 * 320)));
  EXPECT_TRUE(same_bits(std::span(one).subspan(13 * 320), all_b.first(16 * 320)));
  EXPECT_TRUE(same_bits(std::span(two).first(320), all_b.subspan(16 * 320)));
  EXPECT_TRUE(same_bits(std::span(two).subspan(320), all_a.subspan(13 * 320)));
}

TEST(ForwardRef, ACopiedBlockServesAForkedSequence) {
  const Tiny tiny;
  std::vector<TokenId> ids = random_ids(6, 12);
  const auto forward = tiny.make();
  const auto table = table_from(0);
  const Part prompt = {ids, table, 0, 10};
  run(*forward, {&prompt, 1});

  // The fork shares blocks 0 and 1 and gets its own copy of block 2, where it goes another way.
  forward->copy_block(2, 20);
  std::vector<BlockId> fork_table = table;
  fork_table[2] = 20;
  std::vector<TokenId> fork_ids = ids;
  fork_ids[10] = (ids[10] + 7) % 320;
  const Part both[] = {{ids, table, 10, 12}, {fork_ids, fork_table, 10, 12}};
  const auto logits = run(*forward, both);
  const auto whole = run_whole(tiny, ids);
  const auto fork_whole = run_whole(tiny, fork_ids);
  EXPECT_TRUE(same_bits(std::span(logits).first(2 * 320), std::span(whole).subspan(10 * 320)));
  EXPECT_TRUE(
      same_bits(std::span(logits).subspan(2 * 320), std::span(fork_whole).subspan(10 * 320)));
}

TEST(ForwardRef, GivesTheLogitsOfTheWantedRowsOnly) {
  const Tiny tiny;
  const std::vector<TokenId> ids = random_ids(7, 9);
  const auto whole = run_whole(tiny, ids);
  const auto forward = tiny.make();
  const auto table = table_from(0);
  std::vector<std::int32_t> positions(9);
  std::iota(positions.begin(), positions.end(), 0);
  const std::int32_t row_starts[] = {0, 9};
  const std::int32_t wanted[] = {2, 8};
  std::vector<float> logits(2 * 320);
  const Batch batch = {ids, positions, positions, row_starts, table, kStride, wanted};
  forward->run(batch, logits);
  EXPECT_TRUE(same_bits(std::span(logits).first(320), std::span(whole).subspan(2 * 320, 320)));
  EXPECT_TRUE(same_bits(std::span(logits).subspan(320), std::span(whole).subspan(8 * 320, 320)));
}

TEST(ForwardRef, TiedUntiedAndFactorsOfOneGiveEqualLogits) {
  const std::vector<TokenId> ids = random_ids(8, 10);
  const Tiny tied;
  const auto expected = run_whole(tied, ids);

  // The same weights with the embedding written out as output.weight, and with rope factors of one.
  const ops::TensorView& embedding = tied.loaded.llama.embedding;
  std::vector<float> values(static_cast<std::size_t>(embedding.rows * embedding.cols));
  std::memcpy(values.data(), embedding.bytes.data(), embedding.bytes.size());
  auto writer = fake::tiny_llama_writer({});
  writer.tensor("output.weight", embedding.rows, embedding.cols, ops::DType::kF32, values);
  writer.tensor("rope_freqs.weight", 0, 8, ops::DType::kF32, std::vector<float>(8, 1.0F));
  Tiny untied;
  untied.bytes = writer.finish();
  untied.loaded = model::model_from_bytes(untied.bytes).value();
  EXPECT_NE(untied.loaded.llama.output.bytes.data(), untied.loaded.llama.embedding.bytes.data());
  EXPECT_TRUE(same_bits(run_whole(untied, ids), expected));
}

TEST(ForwardRef, RefusesOptionsThatCannotBe) {
  const Tiny tiny;
  const auto refusal = [&tiny](ForwardOptions options) {
    const auto forward = make_forward_ref(tiny.loaded.llama, options);
    return forward.ok() ? "made" : forward.error().to_string();
  };
  EXPECT_NE(refusal({.kv = {16, 0}}).find("block_count: expected at least 1, got 0"),
            std::string::npos);
  EXPECT_NE(refusal({.kv = {0, 8}}).find("block_size"), std::string::npos);
  EXPECT_NE(refusal({.kv = {16, 8}, .rows_max = 0}).find("rows_max"), std::string::npos);
  EXPECT_NE(refusal({.kv = {1 << 20, 1 << 20}}).find("too many"), std::string::npos);
  // 2 layers of keys and values, 4 tokens of 2 heads of 16 floats.
  EXPECT_EQ(kv_block_bytes_ref(tiny.loaded.llama.config, 4), 2 * 2 * 4 * 32 * 4);
}

TEST(ForwardRefDeath, WrongBatchesAreBugs) {
  const Tiny tiny;
  const auto forward = tiny.make();
  const std::vector<TokenId> ids = {1, 2};
  const std::vector<TokenId> bad_ids = {1, 320};
  const std::vector<std::int32_t> positions = {0, 1};
  const std::vector<std::int32_t> elsewhere = {0, 9};
  const std::int32_t starts[] = {0, 2};
  const auto table = table_from(0);
  const auto far_table = table_from(kBlockCount);
  const std::vector<std::int32_t> far_slots = {kBlockCount * 4, kBlockCount * 4 + 1};
  const std::int32_t wanted[] = {1};
  std::vector<float> logits(320);
  EXPECT_DEATH(
      forward->run({bad_ids, positions, positions, starts, table, kStride, wanted}, logits),
      "token id within the vocabulary");
  EXPECT_DEATH(forward->run({ids, positions, elsewhere, starts, table, kStride, wanted}, logits),
               "slot is the position's place");
  EXPECT_DEATH(
      forward->run({ids, positions, far_slots, starts, far_table, kStride, wanted}, logits),
      "block id within the pool");
  EXPECT_DEATH(forward->run({ids, positions, positions, starts, table, kStride, {}}, logits),
               "logits \\[S, vocabulary\\]");
  EXPECT_DEATH(forward->copy_block(0, kBlockCount), "target block within the pool");
}

}  // namespace
}  // namespace kantha::exec
