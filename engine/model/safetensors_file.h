#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/ops/tensor.h"

/// The safetensors container: a JSON header and the tensors' bytes behind it.
///
///   u64 header length | JSON {"name": {"dtype", "shape", "data_offsets": [begin, end)}} | data
///
/// Source: the safetensors repository's format section. Little-endian, row-major.
namespace kantha::model {

/// The format's own limit on the header.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;

/// One tensor. `view` has rows = the product of all dimensions but the last.
struct SafeTensor {
  std::string name;
  std::vector<std::int64_t> dims;  ///< 0 … 8, slowest first
  ops::TensorView view;
};

struct SafetensorsFile {
  std::vector<SafeTensor> tensors;  ///< by offset
};

/// Parses and checks a file's bytes. Guarantees of a success: every view lies within `bytes`, the
/// tensors fill the data part without overlaps, gaps and trailing bytes, each one's size follows
/// from its type and shape, names are unique. Errors name tensor, value and limit: kDataLoss
/// (truncated, damaged, not safetensors: says what it looks like), kUnimplemented (an element type
/// other than F32, F16 and BF16, by name). Memory: a small multiple of the header's real size.
Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace kantha::model
