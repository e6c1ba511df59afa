#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "engine/exec/forward.h"
#include "engine/exec/kv_layout.h"
#include "engine/model/llama_model.h"
#include "engine/ops/cpu/aligned_buffer.h"

namespace kantha::exec {

/// Paged keys and values of all layers in f16: 2^-11 relative, and the arithmetic on them is f32.
///
/// Pages lie as [layer of the block (KvLayout), block, kv head]. A page holds K, then V:
///   K  [block_size / w, head_size, w tokens], w = 16 where 16 divides the block size, else the
///      whole block: a vector load gives one dimension of 16 tokens.
///   V  [block_size, padded head_size], padded to 16 with zeros.
class CpuKvPages {
 public:
  /// Errors: kResourceExhausted; kInvalidArgument for a block size outside [1, 256] or no blocks.
  static Result<CpuKvPages> allocate(const model::LlamaConfig& config, const KvShape& shape);

  /// Bytes that one block takes over its layers.
  static std::int64_t block_bytes(const model::LlamaConfig& config, std::int32_t block_size);

  const KvLayout& layout() const { return layout_; }
  std::int32_t block_size() const { return shape_.block_size; }
  std::int32_t block_count() const { return shape_.block_count; }
  /// True where tiles of 16 tokens can be read in place.
  bool has_tiles() const { return shape_.block_size % 16 == 0; }

  std::uint16_t* k_page(std::int64_t layer, std::int64_t block, std::int64_t head) const {
    return pages_.as<std::uint16_t>() +
           ((index_of(layer) * shape_.block_count + block) * kv_heads_ + head) * page_elements_;
  }
  std::uint16_t* v_page(std::int64_t layer, std::int64_t block, std::int64_t head) const {
    return k_page(layer, block, head) + std::int64_t{shape_.block_size} * head_size_;
  }
  /// Element of a K page for dimension `dim` of the block's token `token`.
  std::int64_t k_offset(std::int64_t token, std::int64_t dim) const {
    return (token / k_tokens_ * head_size_ + dim) * k_tokens_ + token % k_tokens_;
  }

  void copy_block(BlockId from, BlockId to);

 private:
  std::int64_t index_of(std::int64_t layer) const {
    return layout_.layers[static_cast<std::size_t>(layer)].index;
  }

  KvShape shape_;
  KvLayout layout_{{}};
  std::int64_t kv_heads_ = 0;
  std::int64_t head_size_ = 0;
  std::int64_t k_tokens_ = 0;  ///< w above
  std::int64_t page_elements_ = 0;
  ops::cpu::AlignedBuffer pages_;
};

}  // namespace kantha::exec
