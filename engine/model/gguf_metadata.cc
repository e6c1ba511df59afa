#include "engine/model/gguf_metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace kantha::model {
namespace {

constexpr std::uint64_t kKeyBytesMax = 64 * 1024;
constexpr std::uint64_t kStringLengthBytes = 8;

/// Bytes of one element of a fixed size; 0 for strings, arrays and numbers that are no type.
std::uint64_t fixed_size(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool: return 1;
    case GgufType::kU16:
    case GgufType::kI16: return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32: return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64: return 8;
    case GgufType::kString:
    case GgufType::kArray: return 0;
  }
  return 0;
}

template <class T>
T load(std::span<const std::byte> raw, std::uint64_t index = 0) {
  T value;
  std::memcpy(&value, raw.data() + index * sizeof(T), sizeof(T));
  return value;
}

Status check_bools(const ByteCursor& at, std::span<const std::byte> raw, std::string_view field) {
  for (const std::byte value : raw) {
    if (value > std::byte{1}) {
      return at.failure(
          field, fmt::format("expected a bool of 0 or 1, got {}", std::to_integer<int>(value)));
    }
  }
  return ok_status();
}

/// Elements of `value.element`, `value.count` of them, at the cursor.
Status read_elements(ByteCursor& cursor, GgufValue& value, std::string_view field) {
  const bool is_text = value.element == GgufType::kString;
  const std::uint64_t size = is_text ? kStringLengthBytes : fixed_size(value.element);
  if (size == 0) {
    return cursor.failure(field, fmt::format("element type {} ({}) is not allowed here",
                                             gguf_type_name(value.element),
                                             static_cast<std::uint32_t>(value.element)));
  }
  if (value.count > cursor.left() / size) {
    return cursor.failure(field, fmt::format("{} elements claimed, {} bytes are left in the file",
                                             value.count, cursor.left()));
  }
  if (!is_text) {
    const ByteCursor start = cursor;
    TRY(value.raw, cursor.take(value.count * size, field));
    return value.element == GgufType::kBool ? check_bools(start, value.raw, field) : ok_status();
  }
  value.strings.reserve(value.count);
  for (std::uint64_t i = 0; i < value.count; ++i) {
    TRY(const auto text, cursor.text(std::numeric_limits<std::uint64_t>::max(), field));
    value.strings.push_back(text);
  }
  return ok_status();
}

Result<GgufValue> read_value(ByteCursor& cursor, std::string_view field) {
  GgufValue value;
  TRY(const auto type, cursor.read<std::uint32_t>(field));
  value.type = GgufType{type};
  value.element = value.type;
  value.count = 1;
  if (value.type == GgufType::kArray) {
    TRY(const auto element, cursor.read<std::uint32_t>(field));
    TRY(value.count, cursor.read<std::uint64_t>(field));
    value.element = GgufType{element};
  }
  TRY_OK(read_elements(cursor, value, field));
  return value;
}

Error wrong_type(std::string_view key, std::string_view expected, const GgufValue& value) {
  return data_loss(
      fmt::format("{}: expected {}, got type {}", key, expected, gguf_type_name(value.type)));
}

/// The value of an integer scalar when it has one in int64.
std::optional<std::int64_t> as_integer(const GgufValue& value) {
  switch (value.type) {
    case GgufType::kU8: return load<std::uint8_t>(value.raw);
    case GgufType::kI8: return load<std::int8_t>(value.raw);
    case GgufType::kU16: return load<std::uint16_t>(value.raw);
    case GgufType::kI16: return load<std::int16_t>(value.raw);
    case GgufType::kU32: return load<std::uint32_t>(value.raw);
    case GgufType::kI32: return load<std::int32_t>(value.raw);
    case GgufType::kI64: return load<std::int64_t>(value.raw);
    case GgufType::kU64: {
      const auto wide = load<std::uint64_t>(value.raw);
      constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
      return wide > std::uint64_t{kMax} ? kMax : static_cast<std::int64_t>(wide);
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  static constexpr std::string_view kNames[] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                "i32", "f32", "bool", "string", "array",
                                                "u64", "i64", "f64"};
  const auto index = static_cast<std::uint32_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

Result<GgufMetadata> GgufMetadata::read(ByteCursor& cursor, std::uint64_t count) {
  GgufMetadata metadata;
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteCursor start = cursor;
    TRY(const auto key, cursor.text(kKeyBytesMax, fmt::format("key {}", i)));
    if (key.empty()) return start.failure(fmt::format("key {}", i), "is empty");
    TRY(auto value, read_value(cursor, quote(key)));
    if (!metadata.values_.emplace(key, std::move(value)).second) {
      return start.failure(quote(key), "this key occurs twice");
    }
  }
  return metadata;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Result<std::optional<std::string_view>> GgufMetadata::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::string_view>();
  if (value->type != GgufType::kString) return wrong_type(key, "a string", *value);
  return std::optional(value->strings.front());
}

Result<std::optional<std::int64_t>> GgufMetadata::integer(std::string_view key, std::int64_t low,
                                                          std::int64_t high) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  const auto number = as_integer(*value);
  if (!number) return wrong_type(key, "an integer", *value);
  if (*number < low || *number > high) {
    return data_loss(
        fmt::format("{}: expected an integer in [{}, {}], got {}", key, low, high, *number));
  }
  return number;
}

Result<std::optional<double>> GgufMetadata::real(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<double>();
  double number = 0;
  if (value->type == GgufType::kF32) {
    number = load<float>(value->raw);
  } else if (value->type == GgufType::kF64) {
    number = load<double>(value->raw);
  } else {
    return wrong_type(key, "f32 or f64", *value);
  }
  if (!std::isfinite(number)) {
    return data_loss(fmt::format("{}: expected a finite number, got {}", key, number));
  }
  return std::optional(number);
}

Result<std::optional<bool>> GgufMetadata::flag(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->type != GgufType::kBool) return wrong_type(key, "a bool", *value);
  return std::optional(value->raw.front() == std::byte{1});
}

Result<std::span<const std::string_view>> GgufMetadata::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::span<const std::string_view>();
  if (value->type != GgufType::kArray || value->element != GgufType::kString) {
    return wrong_type(key, "an array of strings", *value);
  }
  return std::span<const std::string_view>(value->strings);
}

Result<std::vector<std::int32_t>> GgufMetadata::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::vector<std::int32_t>();
  const bool is_integers = value->element == GgufType::kI32 || value->element == GgufType::kU32;
  if (value->type != GgufType::kArray || !is_integers) {
    return wrong_type(key, "an array of i32", *value);
  }
  std::vector<std::int32_t> numbers(value->count);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    numbers[i] = load<std::int32_t>(value->raw, i);
    if (value->element == GgufType::kU32 && numbers[i] < 0) {
      return data_loss(fmt::format("{}[{}]: {} does not fit an i32", key, i,
                                   load<std::uint32_t>(value->raw, i)));
    }
  }
  return numbers;
}

}  // namespace kantha::model
