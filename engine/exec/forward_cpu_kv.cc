#include "engine/exec/forward_cpu_kv.h"

#include <cstring>
#include <string>

namespace kantha::exec {
namespace {

std::int64_t page_elements(const model::LlamaConfig& config, std::int32_t block_size) {
  const std::int64_t padded = (std::int64_t{config.head_size} + 15) / 16 * 16;
  return block_size * (config.head_size + padded);
}

}  // namespace

std::int64_t CpuKvPages::block_bytes(const model::LlamaConfig& config, std::int32_t block_size) {
  return page_elements(config, block_size) * 2 * KvLayout(config).layers_per_block *
         config.kv_heads;
}

Result<CpuKvPages> CpuKvPages::allocate(const model::LlamaConfig& config, const KvShape& shape) {
  if (shape.block_size < 1 || shape.block_size > 256) {
    return invalid_argument(
        "block_size: expected an integer in [1, 256], got " + std::to_string(shape.block_size),
        "block_size");
  }
  if (shape.block_count < 1) {
    return invalid_argument(
        "block_count: expected at least 1, got " + std::to_string(shape.block_count),
        "block_count");
  }
  CpuKvPages pages;
  pages.shape_ = shape;
  pages.layout_ = KvLayout(config);
  pages.kv_heads_ = config.kv_heads;
  pages.head_size_ = config.head_size;
  pages.k_tokens_ = pages.has_tiles() ? 16 : shape.block_size;
  pages.page_elements_ = page_elements(config, shape.block_size);
  const std::int64_t bytes = block_bytes(config, shape.block_size) * shape.block_count;
  TRY(pages.pages_,
      ops::cpu::AlignedBuffer::allocate(static_cast<std::size_t>(bytes), "KV blocks"));
  return pages;
}

void CpuKvPages::copy_block(BlockId from, BlockId to) {
  CHECK(from >= 0 && from < shape_.block_count && to >= 0 && to < shape_.block_count);
  if (from == to) return;
  const std::int64_t bytes = page_elements_ * kv_heads_ * 2;
  std::uint16_t* pages = pages_.as<std::uint16_t>();
  for (std::int64_t index = 0; index < layout_.layers_per_block; ++index) {
    const std::int64_t first = index * shape_.block_count;
    std::memcpy(pages + (first + to) * kv_heads_ * page_elements_,
                pages + (first + from) * kv_heads_ * page_elements_,
                static_cast<std::size_t>(bytes));
  }
}

}  // namespace kantha::exec
