#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

/// Reading a little-endian file front to back without ever passing its end.
namespace kantha::model {

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

/// A position in borrowed bytes. Each read checks what is left first and names the field and its
/// offset when there is not enough (kDataLoss). Not thread-safe; cheap to copy.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t offset() const { return offset_; }
  std::uint64_t left() const { return bytes_.size() - offset_; }

  /// The next sizeof(T) bytes as a T; any alignment.
  template <class T>
    requires std::is_arithmetic_v<T>
  Result<T> read(std::string_view field) {
    TRY(const auto raw, take(sizeof(T), field));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// The next `size` bytes, borrowed.
  Result<std::span<const std::byte>> take(std::uint64_t size, std::string_view field);

  /// A u64 length of at most `size_max` and that many bytes of text, borrowed.
  Result<std::string_view> text(std::uint64_t size_max, std::string_view field);

  /// A failure at the current offset: "offset 24: FIELD: WHAT".
  Error failure(std::string_view field, std::string_view what) const;

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t offset_ = 0;
};

/// Text from a file made fit for a message: quoted, control bytes as \xNN, cut after 80 bytes.
std::string quote(std::string_view text);

}  // namespace kantha::model
