#include "engine/model/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>

#include "engine/model/file_kind.h"

namespace kantha::model {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kKeyCountMax = 1 << 20;
constexpr std::uint64_t kTensorCountMax = 1 << 20;
constexpr std::uint32_t kDimensionsMax = 4;
constexpr std::uint64_t kNameBytesMax = 64;
constexpr std::uint32_t kAlignmentMin = 8;
// Smallest encodings: key length, one byte, type, value; name length, one byte, rank, dim, type,
// offset.
constexpr std::uint64_t kKeyBytesMin = 8 + 1 + 4 + 1;
constexpr std::uint64_t kTensorInfoBytesMin = 8 + 1 + 4 + 8 + 4 + 8;

struct Header {
  std::uint32_t version = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t key_count = 0;
};

/// What the file says of one tensor before its place is checked.
struct TensorInfo {
  GgufTensor tensor;
  std::uint64_t offset = 0;  ///< from the start of the data part
  std::uint64_t size = 0;
};

Status check_version(const ByteCursor& at, std::uint32_t version) {
  if (version == 2 || version == 3) return ok_status();
  const auto swapped = std::byteswap(version);
  if (swapped >= 1 && swapped <= 3) {
    return unimplemented(
        fmt::format("version: big-endian GGUF (version {}) is not supported", swapped));
  }
  if (version == 1 || version == 4) {
    return unimplemented(
        fmt::format("version: GGUF version {} is not supported, 2 and 3 are", version));
  }
  return at.failure("version", fmt::format("expected 2 or 3, got {}", version));
}

/// `at` is where the count stands, `left` the bytes after it.
Status check_count(const ByteCursor& at, std::string_view field, std::uint64_t left,
                   std::uint64_t count, std::uint64_t limit, std::uint64_t item_bytes_min) {
  if (count > limit) {
    return at.failure(field, fmt::format("{} is over the limit of {}", count, limit));
  }
  if (count > left / item_bytes_min) {
    return at.failure(field, fmt::format("{} claimed, {} bytes are left in the file", count, left));
  }
  return ok_status();
}

Result<Header> read_header(ByteCursor& cursor) {
  Header header;
  TRY(const auto magic, cursor.read<std::uint32_t>("magic"));
  CHECK(magic == kMagic, "the caller looked");
  ByteCursor start = cursor;
  TRY(header.version, cursor.read<std::uint32_t>("version"));
  TRY_OK(check_version(start, header.version));
  start = cursor;
  TRY(header.tensor_count, cursor.read<std::uint64_t>("tensor count"));
  TRY_OK(check_count(start, "tensor count", cursor.left(), header.tensor_count, kTensorCountMax,
                     kTensorInfoBytesMin));
  start = cursor;
  TRY(header.key_count, cursor.read<std::uint64_t>("key count"));
  TRY_OK(
      check_count(start, "key count", cursor.left(), header.key_count, kKeyCountMax, kKeyBytesMin));
  return header;
}

Result<std::uint32_t> read_alignment(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "general.alignment";
  const GgufValue* value = metadata.find(kKey);
  if (value == nullptr) return std::uint32_t{32};
  if (value->type != GgufType::kU32) {
    return data_loss(
        fmt::format("{}: expected type u32, got {}", kKey, gguf_type_name(value->type)));
  }
  ByteCursor cursor(value->raw);
  TRY(const auto alignment, cursor.read<std::uint32_t>(kKey));
  if (!std::has_single_bit(alignment) || alignment < kAlignmentMin) {
    return data_loss(fmt::format("{}: expected a power of two of at least {}, got {}", kKey,
                                 kAlignmentMin, alignment));
  }
  return alignment;
}

std::optional<ops::DType> dtype_of(std::uint32_t ggml_type) {
  switch (ggml_type) {
    case 0: return ops::DType::kF32;
    case 1: return ops::DType::kF16;
    case 2: return ops::DType::kQ4_0;
    case 3: return ops::DType::kQ4_1;
    case 6: return ops::DType::kQ5_0;
    case 7: return ops::DType::kQ5_1;
    case 8: return ops::DType::kQ8_0;
    case 10: return ops::DType::kQ2_K;
    case 11: return ops::DType::kQ3_K;
    case 12: return ops::DType::kQ4_K;
    case 13: return ops::DType::kQ5_K;
    case 14: return ops::DType::kQ6_K;
    case 20: return ops::DType::kIQ4_NL;
    case 23: return ops::DType::kIQ4_XS;
    case 30: return ops::DType::kBF16;
    case 39: return ops::DType::kMXFP4;
    default: return std::nullopt;
  }
}

std::string supported_types() {
  std::string names;
  for (std::size_t i = 0; i < ops::kDTypeCount; ++i) {
    if (i > 0) names += i + 1 < ops::kDTypeCount ? ", " : " and ";
    names += ops::dtype_name(static_cast<ops::DType>(i));
  }
  return names;
}

/// Dimensions at the cursor, positive, their product within int64.
Result<std::vector<std::int64_t>> read_dims(ByteCursor& cursor, std::string_view field) {
  ByteCursor start = cursor;
  TRY(const auto rank, cursor.read<std::uint32_t>(field));
  if (rank < 1 || rank > kDimensionsMax) {
    return start.failure(field,
                         fmt::format("expected 1 to {} dimensions, got {}", kDimensionsMax, rank));
  }
  std::vector<std::int64_t> dims;
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    start = cursor;
    TRY(const auto dim, cursor.read<std::int64_t>(field));
    if (dim <= 0) return start.failure(field, fmt::format("dimension {} is {}", i, dim));
    if (__builtin_mul_overflow(elements, dim, &elements)) {
      return start.failure(field,
                           fmt::format("dimension {} of {} makes the size overflow", i, dim));
    }
    dims.push_back(dim);
  }
  return dims;
}

/// Sets view type, rows and cols and the size in bytes.
Status set_shape(const ByteCursor& at, std::string_view field, std::uint32_t type,
                 TensorInfo& info) {
  const auto dtype = dtype_of(type);
  if (!dtype) {
    return unimplemented(
        fmt::format("tensor {}: type {} (number {}) is not supported; supported are {}", field,
                    ggml_type_name(type), type, supported_types()));
  }
  const std::int64_t block = ops::dtype_block_elements(*dtype);
  ops::TensorView& view = info.tensor.view;
  view.type = *dtype;
  view.cols = info.tensor.dims.front();
  view.rows = 1;
  for (std::size_t i = 1; i < info.tensor.dims.size(); ++i) view.rows *= info.tensor.dims[i];
  if (view.cols % block != 0) {
    return at.failure(field, fmt::format("rows of {} elements are no multiple of {}'s block of {}",
                                         view.cols, ops::dtype_name(*dtype), block));
  }
  std::int64_t row_bytes = 0;
  std::int64_t size = 0;
  if (__builtin_mul_overflow(view.cols / block, ops::dtype_block_bytes(*dtype), &row_bytes) ||
      __builtin_mul_overflow(row_bytes, view.rows, &size)) {
    return at.failure(field, "its size in bytes overflows");
  }
  info.size = static_cast<std::uint64_t>(size);
  return ok_status();
}

Result<TensorInfo> read_tensor_info(ByteCursor& cursor, std::uint64_t index) {
  TensorInfo info;
  ByteCursor start = cursor;
  TRY(info.tensor.name, cursor.text(kNameBytesMax, fmt::format("name of tensor {}", index)));
  if (info.tensor.name.empty())
    return start.failure(fmt::format("tensor {}", index), "has no name");
  const std::string field = quote(info.tensor.name);
  TRY(info.tensor.dims, read_dims(cursor, field));
  start = cursor;
  TRY(const auto type, cursor.read<std::uint32_t>(field));
  TRY_OK(set_shape(start, field, type, info));
  TRY(info.offset, cursor.read<std::uint64_t>(field));
  return info;
}

/// Gives the tensor its bytes: aligned and within the data part.
Status place(std::span<const std::byte> data, std::uint32_t alignment, TensorInfo& info) {
  const std::string name = quote(info.tensor.name);
  if (info.offset % alignment != 0) {
    return data_loss(fmt::format("tensor {}: offset {} is no multiple of the alignment {}", name,
                                 info.offset, alignment));
  }
  if (info.offset > data.size() || info.size > data.size() - info.offset) {
    return data_loss(
        fmt::format("tensor {}: {} bytes at offset {} of the data, which has {} bytes: the "
                    "file is truncated or damaged",
                    name, info.size, info.offset, data.size()));
  }
  info.tensor.view.bytes = data.subspan(info.offset, info.size);
  return ok_status();
}

Status check_apart(std::span<const TensorInfo> infos) {
  std::vector<const TensorInfo*> order;
  order.reserve(infos.size());
  for (const TensorInfo& info : infos) order.push_back(&info);
  std::ranges::sort(order, {}, &TensorInfo::offset);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset + order[i - 1]->size > order[i]->offset) {
      return data_loss(fmt::format("tensors {} and {} overlap at offset {} of the data",
                                   quote(order[i - 1]->tensor.name), quote(order[i]->tensor.name),
                                   order[i]->offset));
    }
  }
  return ok_status();
}

Result<std::vector<TensorInfo>> read_tensor_infos(ByteCursor& cursor, std::uint64_t count) {
  std::vector<TensorInfo> infos;
  std::unordered_set<std::string_view> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteCursor start = cursor;
    TRY(auto info, read_tensor_info(cursor, i));
    if (!names.insert(info.tensor.name).second) {
      return start.failure(quote(info.tensor.name), "this tensor name occurs twice");
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace

Result<GgufFile> parse_gguf(std::span<const std::byte> bytes) {
  if (!starts_like_gguf(bytes)) {
    return data_loss(fmt::format("not a GGUF file: it looks like {}", describe_file(bytes)));
  }
  ByteCursor cursor(bytes);
  TRY(const auto header, read_header(cursor));
  GgufFile file;
  file.version = header.version;
  TRY(file.metadata, GgufMetadata::read(cursor, header.key_count));
  TRY(file.alignment, read_alignment(file.metadata));
  TRY(auto infos, read_tensor_infos(cursor, header.tensor_count));

  // The data starts at the next multiple of the alignment; without tensors there may be none.
  const std::uint64_t alignment = file.alignment;
  const std::uint64_t padding = (alignment - cursor.offset() % alignment) % alignment;
  const std::uint64_t start = std::min<std::uint64_t>(cursor.offset() + padding, bytes.size());
  for (TensorInfo& info : infos) TRY_OK(place(bytes.subspan(start), file.alignment, info));
  TRY_OK(check_apart(infos));
  file.tensors.reserve(infos.size());
  for (TensorInfo& info : infos) file.tensors.push_back(std::move(info.tensor));
  return file;
}

std::string_view ggml_type_name(std::uint32_t type) {
  static constexpr std::string_view kNames[] = {
      "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
      "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
      "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
      "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
      "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
      "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4"};
  return type < std::size(kNames) ? kNames[type] : "unknown to us";
}

}  // namespace kantha::model
