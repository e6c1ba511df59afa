#include "engine/model/gguf_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <limits>

#include "tests/fake/gguf_writer.h"

namespace kantha::model {
namespace {

using fake::Bytes;
using fake::GgufWriter;

/// "47 47 55" or "474755" to bytes; blanks are skipped.
Bytes from_hex(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') digits += c;
  }
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(std::byte(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// The error of parsing bytes; "loaded" when there was none.
std::string refusal(const Bytes& bytes) {
  const auto file = parse_gguf(bytes);
  return file.ok() ? "loaded" : file.error().to_string();
}

testing::AssertionResult says(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << message << "\" does not say \"" << part << "\"";
}

std::int64_t resident_peak_kib() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(GgufFile, ReadsKeysOfEveryTypeAndTensors) {
  const std::vector<std::string> texts = {"one", "", "three"};
  const std::vector<std::int32_t> numbers = {1, -2, 3};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  GgufWriter writer;
  writer.u32("u", 7).i32("i", -7).f32("f", 0.5F).flag("b", true).text("t", "hello");
  writer.texts("a", texts).i32s("n", numbers);
  writer.tensor("matrix", 2, 3, ops::DType::kF32, values)
      .tensor("vector", 0, 6, ops::DType::kF16, values);
  const Bytes bytes = writer.finish();
  const auto file = parse_gguf(bytes);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  EXPECT_EQ(file->version, 3U);
  EXPECT_EQ(*file->metadata.integer("u", 0, 10), 7);
  EXPECT_EQ(*file->metadata.integer("i", -10, 10), -7);
  EXPECT_EQ(*file->metadata.real("f"), 0.5);
  EXPECT_EQ(*file->metadata.flag("b"), true);
  EXPECT_EQ(*file->metadata.text("t"), "hello");
  EXPECT_EQ(file->metadata.texts("a")->size(), 3U);
  EXPECT_EQ(file->metadata.texts("a").value()[2], "three");
  EXPECT_EQ(*file->metadata.integers("n"), numbers);
  EXPECT_EQ(*file->metadata.text("absent"), std::nullopt);
  ASSERT_EQ(file->tensors.size(), 2U);
  EXPECT_EQ(file->tensors[0].name, "matrix");
  EXPECT_EQ(file->tensors[0].view.rows, 2);
  EXPECT_EQ(file->tensors[0].view.cols, 3);
  EXPECT_EQ(std::memcmp(file->tensors[0].view.bytes.data(), values.data(), 24), 0);
  EXPECT_EQ(file->tensors[1].view.rows, 1);
  EXPECT_EQ(file->tensors[1].view.bytes.size(), 12U);
}

TEST(GgufFile, GettersRefuseWrongTypesAndRanges) {
  const Bytes bytes = GgufWriter()
                          .u32("u", 7)
                          .text("t", "x")
                          .f32("nan", std::numeric_limits<float>::quiet_NaN())
                          .finish();
  const auto file = parse_gguf(bytes);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(says(file->metadata.integer("u", 8, 9).error().message,
                   "u: expected an integer in [8, 9], got 7"));
  EXPECT_TRUE(says(file->metadata.integer("t", 0, 9).error().message,
                   "t: expected an integer, got type string"));
  EXPECT_TRUE(says(file->metadata.text("u").error().message, "expected a string, got type u32"));
  EXPECT_TRUE(says(file->metadata.texts("t").error().message, "expected an array of strings"));
  EXPECT_TRUE(says(file->metadata.flag("u").error().message, "expected a bool"));
  EXPECT_TRUE(says(file->metadata.real("nan").error().message, "finite"));
}

TEST(GgufFile, RefusesCountsThatTheFileCannotHold) {
  const struct {
    std::string_view hex;
    std::string_view said;
  } cases[] = {
      {"47475546 03000000 ffffffffffffff7f 0000000000000000",
       "offset 8: tensor count: 9223372036854775807"},
      {"47475546 03000000 0000000000000000 0100000000000000 ffffffffffffffff",
       "offset 16: key count"},
      {"47475546 03000000 0000000000000000 0100000000000000 ffffffffffffffff "
       "0000000000000000000000",
       "needs 18446744073709551615 bytes"},
      {"47475546 03000000 0000000000000000 0100000000000000 0100000000000000 61 09000000 08000000 "
       "ffffffffffffff3f",
       "4611686018427387903 elements claimed"},
      {"47475546 03000000 0000000000000000 ffffff0000000000", "over the limit of 1048576"},
      {"47475546 03000000 0000000000000000 0100000000000000 0100000000000000 61 09000000 09000000 "
       "0100000000000000",
       "element type array (9) is not allowed"},
      {"47475546 03000000 0000000000000000 0100000000000000 0100000000000000 61 4d000000 00000000",
       "element type unknown (77) is not allowed"},
      {"47475546 03000000 0000000000000000 0100000000000000 0100000000000000 61 07000000 02",
       "expected a bool of 0 or 1, got 2"},
      {"47475546 03000000 0000000000000000 0100000000000000 0000000000000000 07000000 0200",
       "is empty"},
  };
  const std::int64_t before = resident_peak_kib();
  for (const auto& c : cases) EXPECT_TRUE(says(refusal(from_hex(c.hex)), c.said)) << c.hex;
  EXPECT_LT(resident_peak_kib() - before, 50 * 1024) << "no memory for what is only claimed";
}

TEST(GgufFile, RefusesOtherVersionsByName) {
  const std::string rest = " 0000000000000000 0000000000000000";
  EXPECT_TRUE(says(refusal(from_hex("47475546 01000000" + rest)),
                   "unimplemented: version: GGUF version 1"));
  EXPECT_TRUE(says(refusal(from_hex("47475546 04000000" + rest)),
                   "unimplemented: version: GGUF version 4"));
  EXPECT_TRUE(says(refusal(from_hex("47475546 00000003" + rest)), "big-endian"));
  EXPECT_TRUE(says(refusal(from_hex("47475546 00000000" + rest)), "expected 2 or 3, got 0"));
  EXPECT_EQ(refusal(from_hex("47475546 02000000" + rest)), "loaded");
  EXPECT_EQ(refusal(from_hex("47475546 03000000" + rest)), "loaded");
}

TEST(GgufFile, RefusesAlignmentsThatAreNoPowerOfTwoOrNoU32) {
  for (const std::uint32_t bad : {0U, 1U, 3U, 4U, 48U}) {
    EXPECT_TRUE(says(refusal(GgufWriter().u32("general.alignment", bad).finish()), "power of two"))
        << bad;
  }
  EXPECT_TRUE(says(refusal(GgufWriter().i32("general.alignment", 32).finish()),
                   "expected type u32, got i32"));
  EXPECT_TRUE(says(refusal(GgufWriter().text("general.alignment", "32").finish()), "got string"));
  const std::vector<float> values(16, 1.0F);
  for (const std::uint32_t good : {8U, 32U, 64U, 4096U}) {
    const Bytes bytes = GgufWriter()
                            .u32("general.alignment", good)
                            .tensor("a", 0, 16, ops::DType::kF32, values)
                            .tensor("b", 0, 16, ops::DType::kF32, values)
                            .finish(good);
    EXPECT_EQ(refusal(bytes), "loaded") << good;
  }
  // 2^31 is a power of two; the data would start far past the end of this file.
  EXPECT_TRUE(says(refusal(GgufWriter()
                               .u32("general.alignment", 1U << 31)
                               .tensor("a", 0, 16, ops::DType::kF32, values)
                               .finish()),
                   "truncated or damaged"));
}

TEST(GgufFile, RefusesNamesThatOccurTwice) {
  EXPECT_TRUE(
      says(refusal(GgufWriter().u32("k", 1).u32("k", 1).finish()), "\"k\": this key occurs twice"));
  const std::vector<float> values(8, 1.0F);
  EXPECT_TRUE(says(refusal(GgufWriter()
                               .tensor("t", 0, 8, ops::DType::kF32, values)
                               .tensor("t", 0, 8, ops::DType::kF32, values)
                               .finish()),
                   "\"t\": this tensor name occurs twice"));
}

TEST(GgufFile, RefusesTensorListsThatLie) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const struct {
    std::vector<std::int64_t> dims;
    std::uint32_t type;
    std::uint64_t offset;
    std::string_view said;
  } cases[] = {
      {{}, 0, 0, "expected 1 to 4 dimensions, got 0"},
      {{1, 1, 1, 1, 1}, 0, 0, "expected 1 to 4 dimensions, got 5"},
      {{0}, 0, 0, "dimension 0 is 0"},
      {{4, -1}, 0, 0, "dimension 1 is -1"},
      {{kHuge, 4}, 0, 0, "makes the size overflow"},
      {{kHuge}, 0, 0, "size in bytes overflows"},
      {{kHuge}, 8, 0, "truncated or damaged"},
      {{33}, 2, 0, "no multiple of Q4_0's block of 32"},
      {{16, 2}, 3, 0, "no multiple of Q4_1's block of 32"},
      {{8}, 0, 7, "offset 7 is no multiple of the alignment 32"},
      {{8}, 0, 64, "truncated or damaged"},
      {{8}, 0, 0xffffffffffffffe0, "truncated or damaged"},
      {{8}, 0, 32, "truncated or damaged"},
      {{8}, 0, 0, "overlap"},
      {{128}, 12, 0, "no multiple of Q4_K's block of 256"},
      {{48}, 39, 0, "no multiple of MXFP4's block of 32"},
      {{256},
       16,
       0,
       "type IQ2_XXS (number 16) is not supported; supported are F32, F16, BF16, Q4_0"},
      {{256}, 16, 0, "IQ4_NL, IQ4_XS and MXFP4"},
      {{256}, 9, 0, "type Q8_1"},
      {{256}, 15, 0, "type Q8_K"},
      {{256}, 31, 0, "type Q4_0_4_4"},
      {{256}, 999, 0, "unknown to us (number 999)"},
  };
  const std::vector<float> values(8, 1.0F);
  for (const auto& c : cases) {
    const Bytes bytes = GgufWriter()
                            .tensor("honest", 0, 8, ops::DType::kF32, values)
                            .listed("liar", c.dims, c.type, c.offset)
                            .finish();
    EXPECT_TRUE(says(refusal(bytes), c.said));
  }
}

TEST(GgufFile, RefusesLongTensorNamesAndKeys) {
  const std::vector<float> values(8, 1.0F);
  const std::string name(65, 'n');
  EXPECT_TRUE(says(refusal(GgufWriter().tensor(name, 0, 8, ops::DType::kF32, values).finish()),
                   "length 65 is over the limit of 64"));
  EXPECT_TRUE(says(refusal(GgufWriter().u32(std::string(65537, 'k'), 1).finish()),
                   "length 65537 is over the limit of 65536"));
}

TEST(GgufFile, QuotesForeignTextInMessages) {
  EXPECT_EQ(quote("a\x1b\"z"), "\"a\\x1b\\x22z\"");
  EXPECT_LT(quote(std::string(1000, 'x')).size(), 100U);
}

TEST(GgufFile, RefusesEveryPrefixOfAGoodFile) {
  const Bytes whole = fake::tiny_llama({.layers = 1, .type = ops::DType::kQ8_0});
  ASSERT_EQ(refusal(whole), "loaded");
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 4096; ++size) sizes.push_back(size);
  for (std::size_t size = 4096; size < whole.size(); size += 4096) sizes.push_back(size);
  sizes.push_back(whole.size() - 1);
  for (const std::size_t size : sizes) {
    // A buffer of exactly this size, so that a sanitizer sees one byte too many.
    const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_FALSE(parse_gguf(prefix).ok()) << size;
  }
}

}  // namespace
}  // namespace kantha::model
