#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/ops/quant_piece.h"
#include "engine/ops/ref/dequantize.h"

/// Blocks of every quantised type against the Python package gguf, bit for bit (quant_blocks.py).
namespace kantha::ops::ref {
namespace {

struct Golden {
  DType type;
  std::vector<std::byte> block;
  std::vector<std::uint32_t> values;
};

DType dtype_named(const std::string& name) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  ADD_FAILURE() << "unknown type " << name;
  return DType::kF32;
}

std::uint32_t from_hex(const std::string& digits, std::size_t at, std::size_t count) {
  return static_cast<std::uint32_t>(std::stoul(digits.substr(at, count), nullptr, 16));
}

std::vector<Golden> read_goldens() {
  const char* root = std::getenv("KANTHA_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) +
                     "/tests/engine/ops/quant_blocks.json");
  std::vector<Golden> goldens;
  for (const auto& entry : nlohmann::json::parse(file)) {
    Golden& golden = goldens.emplace_back();
    golden.type = dtype_named(entry.at("type"));
    const std::string block = entry.at("block");
    for (std::size_t i = 0; i < block.size(); i += 2) {
      golden.block.push_back(static_cast<std::byte>(from_hex(block, i, 2)));
    }
    const std::string values = entry.at("values");
    for (std::size_t i = 0; i < values.size(); i += 8) {
      golden.values.push_back(from_hex(values, i, 8));
    }
  }
  return goldens;
}

TEST(QuantBlocks, have_the_bits_that_the_gguf_package_gives) {
  std::set<DType> seen;
  for (const Golden& golden : read_goldens()) {
    seen.insert(golden.type);
    const auto cols = std::ssize(golden.values);
    ASSERT_EQ(cols, dtype_block_elements(golden.type));
    ASSERT_EQ(std::ssize(golden.block), dtype_block_bytes(golden.type));
    std::vector<float> out(golden.values.size());
    dequantize_row({golden.type, 1, cols, golden.block}, 0, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint32_t bits =
          std::isnan(out[i]) ? 0x7fc00000 : std::bit_cast<std::uint32_t>(out[i]);
      ASSERT_EQ(bits, golden.values[i])
          << dtype_name(golden.type) << " element " << i << " is " << out[i];
    }
  }
  EXPECT_EQ(seen.size(), kDTypeCount - 3) << "every type but the plain floats";
}

TEST(QuantBlocks, are_found_in_rows_and_at_odd_addresses) {
  for (const Golden& golden : read_goldens()) {
    // Three rows of two blocks behind one byte; all but the block under test are zeros.
    const std::size_t bytes = golden.block.size();
    std::vector<std::byte> storage(1 + 6 * bytes);
    std::copy(golden.block.begin(), golden.block.end(),
              storage.begin() + 1 + static_cast<std::ptrdiff_t>(3 * bytes));
    const TensorView view{golden.type, 3, 2 * dtype_block_elements(golden.type),
                          std::span(storage).subspan(1)};
    std::vector<float> out(2 * golden.values.size());
    dequantize_row(view, 1, out);
    for (std::size_t i = 0; i < golden.values.size(); ++i) {
      const float value = out[golden.values.size() + i];
      if (!std::isnan(value)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(value), golden.values[i]) << dtype_name(golden.type);
      }
    }
  }
}

}  // namespace
}  // namespace kantha::ops::ref
