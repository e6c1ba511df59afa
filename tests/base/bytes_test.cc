#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace kantha {
namespace {

template <std::size_t n>
std::array<std::byte, n> bytes_of(const std::uint8_t (&values)[n]) {
  std::array<std::byte, n> bytes;
  for (std::size_t i = 0; i < n; ++i) bytes[i] = std::byte{values[i]};
  return bytes;
}

TEST(ByteReader, ReadsLittleEndianIntegersInTurn) {
  const auto bytes = bytes_of({0x01, 0x02, 0x01, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
                               0x04, 0x03, 0x02, 0x01, 0xff, 0xfe, 0xff});
  ByteReader reader(bytes);
  EXPECT_EQ(*reader.u8(), 0x01);
  EXPECT_EQ(*reader.u16(), 0x0102);
  EXPECT_EQ(*reader.u32(), 0x01020304U);
  EXPECT_EQ(*reader.u64(), 0x0102030405060708ULL);
  EXPECT_EQ(*reader.i8(), -1);
  EXPECT_EQ(*reader.i16(), -2);
  EXPECT_EQ(reader.remaining(), 0U);
  EXPECT_EQ(reader.offset(), bytes.size());
}

TEST(ByteReader, ReadsFloats) {
  const auto bytes = bytes_of({0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0});
  ByteReader reader(bytes);
  EXPECT_EQ(*reader.f32(), 1.0F);
  EXPECT_EQ(*reader.f64(), -2.0);
}

TEST(ByteReader, ReadsTextWithAnyBytes) {
  const auto bytes = bytes_of({'a', 0, 0xff, 'b'});
  ByteReader reader(bytes);
  EXPECT_EQ(*reader.string(3), std::string("a\0\xff", 3));
  EXPECT_EQ(*reader.string(0), "");
  EXPECT_EQ(*reader.string(1), "b");
}

TEST(ByteReader, AReadBeyondTheEndIsAnErrorAndMovesNothing) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader reader(bytes);
  ASSERT_TRUE(reader.skip(1).ok());
  const auto result = reader.u32();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kDataLoss);
  EXPECT_EQ(result.error().message, "truncated: 4 bytes wanted at offset 1, 2 left");
  EXPECT_EQ(reader.offset(), 1U);
  EXPECT_EQ(*reader.u16(), 0x0302);
}

TEST(ByteReader, AHugeForeignLengthIsRefusedBeforeAnythingIsAllocated) {
  const auto bytes = bytes_of({1, 2, 3});
  ByteReader reader(bytes);
  EXPECT_FALSE(reader.string(UINT64_MAX).ok());
  EXPECT_FALSE(reader.skip(UINT64_MAX).ok());
  EXPECT_FALSE(reader.view(4).ok());
  EXPECT_EQ(reader.remaining(), 3U);
}

TEST(ByteReader, AnEmptyInputHasNothingToRead) {
  ByteReader reader({});
  EXPECT_FALSE(reader.u8().ok());
  EXPECT_TRUE(reader.skip(0).ok());
}

}  // namespace
}  // namespace kantha
