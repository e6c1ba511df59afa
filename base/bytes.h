#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

/// Reading binary files and frames without trusting their lengths.
namespace kantha {

/// A cursor over bytes that somebody else owns and that must outlive it. Integers and floats are
/// little-endian. A read beyond the end is kDataLoss with the offset, moves nothing, and may be
/// followed by other reads. One thread per reader.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<std::uint8_t> u8();
  Result<std::uint16_t> u16();
  Result<std::uint32_t> u32();
  Result<std::uint64_t> u64();
  Result<std::int8_t> i8();
  Result<std::int16_t> i16();
  Result<std::int32_t> i32();
  Result<std::int64_t> i64();
  Result<float> f32();
  Result<double> f64();

  /// The next `count` bytes as text; any bytes are allowed. `count` may be a foreign number: it is
  /// compared with what is left before anything is allocated.
  Result<std::string> string(std::uint64_t count);
  /// The next `count` bytes without a copy.
  Result<std::span<const std::byte>> view(std::uint64_t count);
  /// Moves forward by `count` bytes.
  Status skip(std::uint64_t count);

  /// Bytes read so far.
  std::size_t offset() const { return offset_; }
  /// Bytes left.
  std::size_t remaining() const { return bytes_.size() - offset_; }

 private:
  template <class T>
  Result<T> little_endian();

  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

}  // namespace kantha
