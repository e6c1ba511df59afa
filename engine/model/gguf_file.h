#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/gguf_metadata.h"
#include "engine/ops/tensor.h"

/// The GGUF container: metadata and typed tensors, checked once so that nobody has to again.
///
///   "GGUF" | u32 version | u64 tensor count | u64 key count | keys | tensor infos | padding | data
///
/// Source: the GGUF page of ggml's documentation. Versions 2 and 3, little-endian.
namespace kantha::model {

/// One tensor as the file lists it. `view` has rows = the product of all dimensions but the first.
struct GgufTensor {
  std::string_view name;
  std::vector<std::int64_t> dims;  ///< 1 … 4, fastest first, as in the file
  ops::TensorView view;
};

/// A whole file; everything borrows from the bytes that it was parsed from.
struct GgufFile {
  std::uint32_t version = 0;
  std::uint32_t alignment = 32;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;  ///< in file order; names are unique
};

/// Parses and checks a file's bytes. Guarantees of a success: every span lies within `bytes`, no
/// two tensors overlap, every tensor's size follows from its type and dimensions. Errors name
/// offset, field, value and limit: kDataLoss (truncated, damaged, not GGUF: says what it looks
/// like), kUnimplemented (version, byte order or tensor type, by name). Memory: at most a small
/// multiple of the header's real size, whatever the counts claim.
Result<GgufFile> parse_gguf(std::span<const std::byte> bytes);

/// Name of a ggml tensor type number; "unknown to us" for a number after the last that we know.
std::string_view ggml_type_name(std::uint32_t type);

}  // namespace kantha::model
