#include "base/bytes.h"

#include <bit>
#include <cstring>

namespace kantha {

// A plain memcpy gives the right value only where the machine's order is the files' order.
static_assert(std::endian::native == std::endian::little);

template <class T>
Result<T> ByteReader::little_endian() {
  TRY(const auto bytes, view(sizeof(T)));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

Result<std::uint8_t> ByteReader::u8() { return little_endian<std::uint8_t>(); }
Result<std::uint16_t> ByteReader::u16() { return little_endian<std::uint16_t>(); }
Result<std::uint32_t> ByteReader::u32() { return little_endian<std::uint32_t>(); }
Result<std::uint64_t> ByteReader::u64() { return little_endian<std::uint64_t>(); }
Result<std::int8_t> ByteReader::i8() { return little_endian<std::int8_t>(); }
Result<std::int16_t> ByteReader::i16() { return little_endian<std::int16_t>(); }
Result<std::int32_t> ByteReader::i32() { return little_endian<std::int32_t>(); }
Result<std::int64_t> ByteReader::i64() { return little_endian<std::int64_t>(); }
Result<float> ByteReader::f32() { return little_endian<float>(); }
Result<double> ByteReader::f64() { return little_endian<double>(); }

Result<std::string> ByteReader::string(std::uint64_t count) {
  TRY(const auto bytes, view(count));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::span<const std::byte>> ByteReader::view(std::uint64_t count) {
  if (count > remaining()) {
    return data_loss("truncated: " + std::to_string(count) + " bytes wanted at offset " +
                     std::to_string(offset_) + ", " + std::to_string(remaining()) + " left");
  }
  const auto bytes = bytes_.subspan(offset_, count);
  offset_ += count;
  return bytes;
}

Status ByteReader::skip(std::uint64_t count) {
  TRY(const auto skipped, view(count));
  static_cast<void>(skipped);
  return ok_status();
}

}  // namespace kantha
