#include "engine/model/safetensors_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "base/rng.h"
#include "tests/fake/gguf_writer.h"

namespace kantha::model {
namespace {

using fake::Bytes;

/// A file with this length field, header and so many bytes of data.
Bytes file_of(std::uint64_t length, std::string_view header, std::size_t data) {
  Bytes bytes(sizeof length);
  std::memcpy(bytes.data(), &length, sizeof length);
  const auto* text = reinterpret_cast<const std::byte*>(header.data());
  bytes.insert(bytes.end(), text, text + header.size());
  bytes.resize(bytes.size() + data, std::byte{1});
  return bytes;
}
Bytes file_of(std::string_view header, std::size_t data) {
  return file_of(header.size(), header, data);
}

std::string refusal(const Bytes& bytes) {
  const auto file = parse_safetensors(bytes);
  return file.ok() ? "parsed" : file.error().to_string();
}

TEST(SafetensorsFile, GivesTypesShapesAndBytes) {
  const Bytes bytes = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,2,3],"data_offsets":[16,40]},)"
      R"("a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}, "s":{"dtype":"F16","shape":[],)"
      R"("data_offsets":[40,42]}}   )",
      42);
  const auto file = parse_safetensors(bytes);
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  ASSERT_EQ(file->tensors.size(), 3U);
  const SafeTensor& a = file->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.view.rows, 1);
  EXPECT_EQ(a.view.cols, 4);
  EXPECT_EQ(a.view.type, ops::DType::kF32);
  const SafeTensor& b = file->tensors[1];
  EXPECT_EQ(b.dims, (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_EQ(b.view.rows, 4);
  EXPECT_EQ(b.view.cols, 3);
  EXPECT_EQ(b.view.bytes.data() - a.view.bytes.data(), 16);
  EXPECT_EQ(b.view.bytes.size(), 24U);
  EXPECT_EQ(file->tensors[2].view.bytes.size(), 2U);
}

TEST(SafetensorsFile, RefusesDamageWithItsTrueReason) {
  constexpr std::string_view kOne = R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  constexpr std::string_view kTwice =
      R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  constexpr std::string_view kSameName =
      R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}})";
  constexpr std::string_view kHole =
      R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[20,36]}})";
  const auto one = [](std::string_view entry) {
    return file_of(R"({"w":)" + std::string(entry) + "}", 16);
  };
  const struct {
    std::string_view name;
    Bytes bytes;
    std::string_view said;
  } cases[] = {
      {"cut data", file_of(kOne, 8), "lists 16 bytes of data, the file has 8: it is truncated"},
      {"trailing bytes", file_of(kOne, 17), "lists 16 bytes of data, the file has 17"},
      {"overlap", file_of(kTwice, 16), "tensors \"a\" and \"b\" overlap at offset 0"},
      {"same name", file_of(kSameName, 32), "duplicate"},
      {"hole", file_of(kHole, 36),
       "tensor \"b\": begins at offset 20 of the data, which leaves a gap of 4"},
      {"length beyond the limit", file_of(0x7fffffffffffffff, kOne, 37),
       "header length: at most 100000000 bytes, got 9223372036854775807"},
      {"101 MB", file_of(101'000'000, kOne, 16), "at most 100000000 bytes, got 101000000"},
      {"length beyond the file", file_of(1000, kOne, 16), "1000 bytes, but the file has"},
      {"length 0", file_of(0, "", 100), "at least 2 bytes, got 0"},
      {"zeros", Bytes(4096), "a file of zeros"},
      {"empty", Bytes(), "an empty file"},
      {"an array", file_of("[1]", 0), "expected a JSON object"},
      {"no JSON", file_of("{\"w\":", 0), "header: "},
      {"data behind an empty header", file_of("{}", 4), "lists 0 bytes of data, the file has 4"},
      {"unknown type", one(R"({"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]})"),
       "unimplemented: tensor \"w\": dtype \"F8_E4M3\" is not supported; F32, F16 and BF16 are"},
      {"wrong size", one(R"({"dtype":"F16","shape":[4],"data_offsets":[0,16]})"),
       "data_offsets hold 16 bytes, but F16 of shape \"[4]\" need 8"},
      {"backwards", one(R"({"dtype":"F32","shape":[4],"data_offsets":[16,0]})"),
       "expected 0 <= begin <= end"},
      {"negative", one(R"({"dtype":"F32","shape":[-4],"data_offsets":[0,16]})"), "no shape"},
      {"overflow", one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]})"),
       "no shape"},
      {"half", one(R"({"dtype":"F32","shape":[4.5],"data_offsets":[0,16]})"), "no shape"},
      {"nine dimensions",
       one(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]})"), "at most 8"},
      {"three offsets", one(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16,16]})"),
       "expected [begin, end]"},
      {"no shape", one(R"({"dtype":"F32","data_offsets":[0,16]})"), "shape is missing"},
      {"a number", one("3"), "expected an object"},
      {"type 5", one(R"({"dtype":5,"shape":[4],"data_offsets":[0,16]})"), "expected a string"},
  };
  for (const auto& c : cases) {
    const std::string message = refusal(c.bytes);
    EXPECT_NE(message.find(c.said), std::string::npos) << c.name << ": " << message;
  }
}

TEST(SafetensorsFile, EveryPrefixOfAGoodFileIsRefused) {
  const Bytes good = file_of(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 16);
  ASSERT_EQ(refusal(good), "parsed");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(refusal(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
              "parsed")
        << size;
  }
}

TEST(SafetensorsFile, TakesALargeHeaderThatIsMostlyPadding) {
  std::string header = R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  header.resize(99'000'000, ' ');
  EXPECT_EQ(refusal(file_of(header, 16)), "parsed");
}

TEST(SafetensorsMutants, ParseOrAreRefused) {
  const Bytes good = file_of(
      R"({"a":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]},"b":{"dtype":"BF16","shape":[8],"data_offsets":[32,48]}})",
      48);
  constexpr std::string_view kPieces[] = {
      "0",       "9",          "-",    "1e9",     "18446744073709551616",
      "[",       "]",          "{",    "}",       "\"",
      ",",       ":",          "null", "\"F16\"", "\"a\"",
      "\\u0000", "4294967295", "\xff"};
  int parsed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::uint64_t counter = 0;
    const auto below = [&](std::uint64_t bound) { return random_bits(seed, counter++) % bound; };
    Bytes mutant = good;
    for (std::uint64_t i = 0; i <= below(3); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(below(mutant.size()));
      const std::string_view piece = kPieces[below(std::size(kPieces))];
      const auto* text = reinterpret_cast<const std::byte*>(piece.data());
      const auto length =
          std::min<std::ptrdiff_t>(std::ssize(mutant) - at, static_cast<std::ptrdiff_t>(below(4)));
      mutant.erase(mutant.begin() + at, mutant.begin() + at + length);
      if (below(2) == 0) mutant.insert(mutant.begin() + at, text, text + piece.size());
      if (below(3) != 0 && mutant.size() > 8) {  // an honest length, so that the JSON is reached
        const std::uint64_t header = mutant.size() > 56 ? mutant.size() - 56 : 0;
        std::memcpy(mutant.data(), &header, sizeof header);
      }
      if (mutant.empty()) break;
    }
    mutant.shrink_to_fit();
    const auto file = parse_safetensors(mutant);
    if (!file.ok()) {
      EXPECT_FALSE(file.error().message.empty());
      continue;
    }
    ++parsed;
    std::uint64_t sum = 0;
    for (const SafeTensor& tensor : file->tensors) {
      for (const std::byte b : tensor.view.bytes) sum += std::to_integer<std::uint64_t>(b);
    }
    EXPECT_LE(sum, 255 * mutant.size());
  }
  EXPECT_GT(parsed, 3);
  EXPECT_LT(parsed, 500);
}

}  // namespace
}  // namespace kantha::model
