#include "engine/model/safetensors_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "engine/model/byte_cursor.h"
#include "engine/model/file_kind.h"

namespace kantha::model {
namespace {

constexpr std::uint64_t kPrefix = sizeof(std::uint64_t);
constexpr std::size_t kDimensionsMax = 8;
constexpr std::size_t kNameBytesMax = 1024;

struct Listed {
  SafeTensor tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Error tensor_error(std::string_view name, std::string_view what) {
  return data_loss(fmt::format("tensor {}: {}", quote(name), what));
}

/// The header's text, within the file and the format's limit.
Result<std::string_view> header_text(std::span<const std::byte> bytes) {
  if (bytes.size() < kPrefix) {
    return data_loss(fmt::format("not a safetensors file: it looks like {}", describe_file(bytes)));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::uint64_t left = bytes.size() - kPrefix;
  if (length > kSafetensorsHeaderMax) {
    return data_loss(fmt::format("header length: at most {} bytes, got {}; the file looks like {}",
                                 kSafetensorsHeaderMax, length, describe_file(bytes)));
  }
  if (length < 2) {
    return data_loss(fmt::format("header length: at least 2 bytes, got {}; the file looks like {}",
                                 length, describe_file(bytes)));
  }
  if (length > left) {
    return data_loss(
        fmt::format("header length: {} bytes, but the file has {} after it: it is "
                    "truncated or damaged",
                    length, left));
  }
  return std::string_view(reinterpret_cast<const char*>(bytes.data()) + kPrefix, length);
}

Result<ops::DType> element_type(std::string_view name, std::string_view type) {
  if (type == "F32") return ops::DType::kF32;
  if (type == "F16") return ops::DType::kF16;
  if (type == "BF16") return ops::DType::kBF16;
  return unimplemented(fmt::format("tensor {}: dtype {} is not supported; F32, F16 and BF16 are",
                                   quote(name), quote(type)));
}

/// A member that is an integer of at least 0 below 2^63.
std::optional<std::uint64_t> natural(const Json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto value = json.get<std::uint64_t>();
  return value >> 63 == 0 ? std::optional(value) : std::nullopt;
}

Status read_offsets(const Json& json, Listed& listed) {
  const std::string& name = listed.tensor.name;
  if (!json.is_array() || json.size() != 2) {
    return tensor_error(name, "data_offsets: expected [begin, end]");
  }
  const auto begin = natural(json[0]);
  const auto end = natural(json[1]);
  if (!begin || !end || *begin > *end) {
    return tensor_error(
        name, fmt::format("data_offsets: expected 0 <= begin <= end, got {}", quote(json.dump())));
  }
  listed.begin = *begin;
  listed.end = *end;
  return ok_status();
}

Status read_shape(const Json& json, Listed& listed) {
  SafeTensor& tensor = listed.tensor;
  if (!json.is_array() || json.size() > kDimensionsMax) {
    return tensor_error(tensor.name,
                        fmt::format("shape: expected an array of at most {}", kDimensionsMax));
  }
  std::int64_t elements = 1;
  for (const Json& item : json) {
    const auto dim = natural(item);
    if (!dim || __builtin_mul_overflow(elements, static_cast<std::int64_t>(*dim), &elements)) {
      return tensor_error(tensor.name,
                          fmt::format("shape: {} is no shape that fits", quote(json.dump())));
    }
    tensor.dims.push_back(static_cast<std::int64_t>(*dim));
  }
  tensor.view.cols = tensor.dims.empty() ? 1 : tensor.dims.back();
  tensor.view.rows = tensor.view.cols == 0 ? 0 : elements / tensor.view.cols;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, ops::dtype_block_bytes(tensor.view.type), &bytes) ||
      std::cmp_not_equal(bytes, listed.end - listed.begin)) {
    return tensor_error(tensor.name,
                        fmt::format("data_offsets hold {} bytes, but {} of shape {} need {}",
                                    listed.end - listed.begin, ops::dtype_name(tensor.view.type),
                                    quote(json.dump()), bytes));
  }
  return ok_status();
}

Result<Listed> read_entry(const std::string& name, const Json& json) {
  Listed listed;
  listed.tensor.name = name;
  if (name.empty() || name.size() > kNameBytesMax) {
    return tensor_error(name, fmt::format("a name has 1 to {} bytes", kNameBytesMax));
  }
  if (!json.is_object()) return tensor_error(name, "expected an object");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) return tensor_error(name, fmt::format("{} is missing", key));
  }
  if (!json["dtype"].is_string()) return tensor_error(name, "dtype: expected a string");
  TRY(listed.tensor.view.type, element_type(name, json["dtype"].get_ref<const std::string&>()));
  TRY_OK(read_offsets(json["data_offsets"], listed));
  TRY_OK(read_shape(json["shape"], listed));
  return listed;
}

/// Sorted by offset: each tensor begins where the one before it ends.
Status check_layout(std::vector<Listed>& all, std::uint64_t data_bytes) {
  std::ranges::sort(all, [](const Listed& a, const Listed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  std::string_view before;
  for (const Listed& listed : all) {
    if (listed.begin < at) {
      return data_loss(fmt::format("tensors {} and {} overlap at offset {} of the data",
                                   quote(before), quote(listed.tensor.name), listed.begin));
    }
    if (listed.begin > at) {
      return tensor_error(listed.tensor.name,
                          fmt::format("begins at offset {} of the data, which leaves a gap of {} "
                                      "bytes before it",
                                      listed.begin, listed.begin - at));
    }
    at = listed.end;
    before = listed.tensor.name;
  }
  if (at != data_bytes) {
    return data_loss(
        fmt::format("the header lists {} bytes of data, the file has {}: it is {}", at, data_bytes,
                    at > data_bytes ? "truncated" : "damaged, or has something behind"));
  }
  return ok_status();
}

}  // namespace

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> bytes) {
  TRY(const auto text, header_text(bytes));
  if (text.front() != '{') {
    return data_loss(fmt::format("header: expected a JSON object; the file looks like {}",
                                 describe_file(bytes)));
  }
  const JsonLimits limits{
      .depth_max = 8, .nodes_max = text.size(), .bytes_max = kSafetensorsHeaderMax};
  const auto header = parse_json(text, limits);
  if (!header.ok()) return data_loss(fmt::format("header: {}", header.error().message));

  std::vector<Listed> all;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    TRY(auto listed, read_entry(name, entry));
    all.push_back(std::move(listed));
  }
  const auto data = bytes.subspan(kPrefix + text.size());
  TRY_OK(check_layout(all, data.size()));
  SafetensorsFile file;
  file.tensors.reserve(all.size());
  for (Listed& listed : all) {
    listed.tensor.view.bytes = data.subspan(listed.begin, listed.end - listed.begin);
    file.tensors.push_back(std::move(listed.tensor));
  }
  return file;
}

}  // namespace kantha::model
