#include "tests/fake/gguf_writer.h"

#include <cstring>
#include <fstream>
#include <utility>

#include "base/check.h"

namespace kantha::fake {
namespace {

using model::GgufType;

template <class T>
void append(Bytes& bytes, T value) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof(T));
  std::memcpy(bytes.data() + end, &value, sizeof(T));
}

void append_text(Bytes& bytes, std::string_view text) {
  append(bytes, std::uint64_t{text.size()});
  const auto raw = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <class T>
Bytes scalar(GgufType type, T value) {
  Bytes bytes;
  append(bytes, static_cast<std::uint32_t>(type));
  append(bytes, value);
  return bytes;
}

Bytes array_of(GgufType element, std::size_t count) {
  Bytes bytes = scalar(GgufType::kArray, static_cast<std::uint32_t>(element));
  append(bytes, std::uint64_t{count});
  return bytes;
}

std::uint32_t ggml_number(ops::DType type) {
  switch (type) {
    case ops::DType::kF32: return 0;
    case ops::DType::kF16: return 1;
    case ops::DType::kQ4_0: return 2;
    case ops::DType::kQ4_1: return 3;
    case ops::DType::kQ8_0: return 8;
    case ops::DType::kBF16: return 30;
    case ops::DType::kQ5_0: return 6;
    case ops::DType::kQ5_1: return 7;
    case ops::DType::kQ2_K: return 10;
    case ops::DType::kQ3_K: return 11;
    case ops::DType::kQ4_K: return 12;
    case ops::DType::kQ5_K: return 13;
    case ops::DType::kQ6_K: return 14;
    case ops::DType::kIQ4_NL: return 20;
    case ops::DType::kIQ4_XS: return 23;
    case ops::DType::kMXFP4: return 39;
  }
  CHECK(false, "unknown dtype");
}

void pad(Bytes& bytes, std::uint32_t alignment) {
  while (bytes.size() % alignment != 0) bytes.push_back(std::byte{0});
}

}  // namespace

GgufWriter& GgufWriter::raw(std::string_view key, Bytes value) {
  pairs_.push_back({std::string(key), std::move(value)});
  return *this;
}

GgufWriter& GgufWriter::u32(std::string_view key, std::uint32_t value) {
  return raw(key, scalar(GgufType::kU32, value));
}

GgufWriter& GgufWriter::i32(std::string_view key, std::int32_t value) {
  return raw(key, scalar(GgufType::kI32, value));
}

GgufWriter& GgufWriter::f32(std::string_view key, float value) {
  return raw(key, scalar(GgufType::kF32, value));
}

GgufWriter& GgufWriter::flag(std::string_view key, bool value) {
  return raw(key, scalar(GgufType::kBool, std::uint8_t{value}));
}

GgufWriter& GgufWriter::text(std::string_view key, std::string_view value) {
  Bytes bytes;
  append(bytes, static_cast<std::uint32_t>(GgufType::kString));
  append_text(bytes, value);
  return raw(key, std::move(bytes));
}

GgufWriter& GgufWriter::texts(std::string_view key, std::span<const std::string> values) {
  Bytes bytes = array_of(GgufType::kString, values.size());
  for (const std::string& value : values) append_text(bytes, value);
  return raw(key, std::move(bytes));
}

GgufWriter& GgufWriter::i32s(std::string_view key, std::span<const std::int32_t> values) {
  Bytes bytes = array_of(GgufType::kI32, values.size());
  for (const std::int32_t value : values) append(bytes, value);
  return raw(key, std::move(bytes));
}

GgufWriter& GgufWriter::without(std::string_view key) {
  std::erase_if(pairs_, [key](const Pair& pair) { return pair.key == key; });
  return *this;
}

GgufWriter& GgufWriter::tensor(std::string_view name, std::int64_t rows, std::int64_t cols,
                               ops::DType type, std::span<const float> values) {
  const std::int64_t row_count = rows == 0 ? 1 : rows;
  CHECK(static_cast<std::int64_t>(values.size()) == row_count * cols, "one value per element");
  Tensor tensor{std::string(name), {cols}, ggml_number(type), {}};
  if (rows != 0) tensor.dims.push_back(rows);
  for (std::int64_t r = 0; r < row_count; ++r) {
    const Bytes row = quantize_row(type, values.subspan(r * cols, cols));
    tensor.data.insert(tensor.data.end(), row.begin(), row.end());
  }
  tensors_.push_back(std::move(tensor));
  return *this;
}

GgufWriter& GgufWriter::listed(std::string_view name, std::vector<std::int64_t> dims,
                               std::uint32_t type, std::uint64_t offset) {
  tensors_.push_back({std::string(name), std::move(dims), type, {}, offset});
  return *this;
}

GgufWriter& GgufWriter::without_tensor(std::string_view name) {
  std::erase_if(tensors_, [name](const Tensor& tensor) { return tensor.name == name; });
  return *this;
}

Bytes GgufWriter::finish(std::uint32_t alignment) const {
  Bytes file;
  append(file, std::uint32_t{0x46554747});
  append(file, std::uint32_t{3});
  append(file, std::uint64_t{tensors_.size()});
  append(file, std::uint64_t{pairs_.size()});
  for (const Pair& pair : pairs_) {
    append_text(file, pair.key);
    file.insert(file.end(), pair.value.begin(), pair.value.end());
  }
  Bytes data;
  for (const Tensor& tensor : tensors_) {
    pad(data, alignment);
    append_text(file, tensor.name);
    append(file, static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::int64_t dim : tensor.dims) append(file, dim);
    append(file, tensor.type);
    append(file, tensor.offset.value_or(data.size()));
    data.insert(data.end(), tensor.data.begin(), tensor.data.end());
  }
  pad(file, alignment);
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  CHECK(file.good(), "the test could not write its file");
}

}  // namespace kantha::fake
