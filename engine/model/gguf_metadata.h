#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model/byte_cursor.h"

/// The key-value part of a GGUF file, typed as the file has it.
/// Source: the GGUF page of ggml's documentation ("GGUF metadata value types").
namespace kantha::model {

/// Value types; the numbers are the file's.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// "u32", "string", …; "unknown" for a number that is no type.
std::string_view gguf_type_name(GgufType type);

/// One value, borrowed from the file. Scalars have count 1.
struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;            ///< of an array; equal to type for a scalar
  std::uint64_t count = 0;                     ///< elements of an array
  std::span<const std::byte> raw = {};         ///< the elements' bytes when they are not strings
  std::vector<std::string_view> strings = {};  ///< [count] when they are
};

/// All pairs of one file. The getters give nothing when the key is absent and kDataLoss, naming the
/// key, when its type or value is wrong. Immutable once read; any thread.
class GgufMetadata {
 public:
  /// Reads `count` pairs at the cursor. Refuses duplicate keys, empty keys, nested arrays, bools
  /// other than 0 and 1, and counts that the bytes left cannot hold, before anything is allocated
  /// for them.
  static Result<GgufMetadata> read(ByteCursor& cursor, std::uint64_t count);

  const std::map<std::string_view, GgufValue>& values() const { return values_; }
  const GgufValue* find(std::string_view key) const;

  Result<std::optional<std::string_view>> text(std::string_view key) const;
  /// Any integer type whose value is within [low, high].
  Result<std::optional<std::int64_t>> integer(std::string_view key, std::int64_t low,
                                              std::int64_t high) const;
  /// f32 or f64, finite.
  Result<std::optional<double>> real(std::string_view key) const;
  Result<std::optional<bool>> flag(std::string_view key) const;
  /// An array of strings; empty when absent.
  Result<std::span<const std::string_view>> texts(std::string_view key) const;
  /// An array of i32 or u32 within int32; empty when absent.
  Result<std::vector<std::int32_t>> integers(std::string_view key) const;

 private:
  std::map<std::string_view, GgufValue> values_;
};

}  // namespace kantha::model
