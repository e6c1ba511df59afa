#include "engine/ops/cpu/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <utility>

namespace kantha::ops::cpu {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AlignedBuffer::~AlignedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

Result<AlignedBuffer> AlignedBuffer::allocate(std::size_t bytes, std::string_view purpose) {
  CHECK(bytes > 0);
  AlignedBuffer buffer;
  // Small buffers need no huge page; a page's own alignment suffices for vectors.
  const std::size_t slack = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  const std::size_t wanted = bytes + slack;
  void* mapping = wanted < bytes ? MAP_FAILED
                                 : mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Error{Code::kResourceExhausted,
                 "cannot allocate " + std::to_string(bytes) + " bytes for " + std::string(purpose)};
  }
  auto address = reinterpret_cast<std::uintptr_t>(mapping);
  if (slack > 0) {
    address = (address + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    // Advice only: without huge pages everything works, slower.
    (void)madvise(reinterpret_cast<void*>(address), bytes, MADV_HUGEPAGE);
  }
  buffer.mapping_ = mapping;
  buffer.mapping_bytes_ = wanted;
  buffer.data_ = reinterpret_cast<std::byte*>(address);
  buffer.bytes_ = bytes;
  return buffer;
}

}  // namespace kantha::ops::cpu
