#include "engine/ops/cpu/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace kantha::ops::cpu {
namespace {

TEST(AlignedBuffer, is_zeroed_aligned_and_writable_to_its_end) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{5} << 20}) {
    auto buffer = AlignedBuffer::allocate(bytes, "test");
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U);
    EXPECT_EQ(buffer->data()[bytes - 1], std::byte{0});
    buffer->data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(buffer->size(), bytes);
  }
}

TEST(AlignedBuffer, moves_without_copying) {
  auto made = AlignedBuffer::allocate(100, "test");
  const std::byte* data = made->data();
  AlignedBuffer moved = std::move(made).value();
  EXPECT_EQ(moved.data(), data);
}

TEST(AlignedBuffer, says_what_it_could_not_get) {
  const auto buffer =
      AlignedBuffer::allocate(std::numeric_limits<std::size_t>::max() / 4, "dreams");
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code, Code::kResourceExhausted);
  EXPECT_NE(buffer.error().message.find("dreams"), std::string::npos);
}

}  // namespace
}  // namespace kantha::ops::cpu
