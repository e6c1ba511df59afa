#pragma once

#include <cstdint>
#include <utility>

namespace kantha::net {

/// Counts one request's body among those that a server holds, as long as this lives. The total
/// outlives it; one thread.
class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(std::uint64_t& total) : total_(&total) {}
  HeldBytes(HeldBytes&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(total_, other.total_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() {
    if (total_ != nullptr) *total_ -= bytes_;
  }

  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (total_ != nullptr) *total_ += bytes;
  }

 private:
  std::uint64_t* total_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kantha::net
