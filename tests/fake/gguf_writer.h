#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/gguf_metadata.h"
#include "engine/ops/tensor.h"

/// GGUF files for tests: honest ones, and ones that lie where a test wants them to.
namespace kantha::fake {

using Bytes = std::vector<std::byte>;

/// Collects keys and tensors and lays them out as GGUF version 3. A test may put the same key or
/// name twice, or change any byte of the result. Not thread-safe.
class GgufWriter {
 public:
  GgufWriter& u32(std::string_view key, std::uint32_t value);
  GgufWriter& i32(std::string_view key, std::int32_t value);
  GgufWriter& f32(std::string_view key, float value);
  GgufWriter& flag(std::string_view key, bool value);
  GgufWriter& text(std::string_view key, std::string_view value);
  GgufWriter& texts(std::string_view key, std::span<const std::string> values);
  GgufWriter& i32s(std::string_view key, std::span<const std::int32_t> values);
  /// A value's bytes as they shall stand in the file, type number included.
  GgufWriter& raw(std::string_view key, Bytes value);
  /// Drops every pair of this key, so that a test can put another in its place.
  GgufWriter& without(std::string_view key);

  /// A tensor [rows, cols]; a vector when rows is 0. The values are rounded to `type`.
  GgufWriter& tensor(std::string_view name, std::int64_t rows, std::int64_t cols, ops::DType type,
                     std::span<const float> values);
  /// A line of the tensor list with nothing behind it: any dims, type number and offset.
  GgufWriter& listed(std::string_view name, std::vector<std::int64_t> dims, std::uint32_t type,
                     std::uint64_t offset);
  GgufWriter& without_tensor(std::string_view name);

  /// The file. `alignment` places the tensors; the key general.alignment is the caller's to put.
  Bytes finish(std::uint32_t alignment = 32) const;

 private:
  struct Pair {
    std::string key;
    Bytes value;  ///< type and payload
  };
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> dims;
    std::uint32_t type = 0;  ///< ggml's number
    Bytes data;
    std::optional<std::uint64_t> offset = {};  ///< given, or where the data comes to lie
  };

  std::vector<Pair> pairs_;
  std::vector<Tensor> tensors_;
};

/// One row of `type` from floats: nearest values, simple block scales. values.size() is a multiple
/// of the block.
Bytes quantize_row(ops::DType type, std::span<const float> values);

/// Shape of a made-up model. width, ffn_width and heads * head size must be multiples of the
/// type's block; vocabulary is at least 259.
struct TinyLlama {
  std::uint64_t seed = 1;
  std::int32_t layers = 2;
  std::int32_t width = 64;
  std::int32_t heads = 4;
  std::int32_t kv_heads = 2;
  std::int32_t ffn_width = 96;
  std::int32_t vocabulary = 320;
  ops::DType type = ops::DType::kF32;
  std::int32_t context = 512;
  bool tied = true;  ///< without output.weight
};

/// Keys, weights and vocabulary of a working llama model with random weights: tokens 0 … 2 are
/// <|endoftext|>, <|im_start|>, <|im_end|> (<|im_end|> is eos), then 256 byte tokens in byte-level
/// BPE's alphabet, then merges of letter pairs; the template is ChatML.
GgufWriter tiny_llama_writer(const TinyLlama& shape);
/// The file of tiny_llama_writer.
Bytes tiny_llama(const TinyLlama& shape);
/// Writes bytes to a file; CHECKs that it worked.
void write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace kantha::fake
