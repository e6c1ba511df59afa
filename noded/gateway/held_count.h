#pragma once

#include <cstdint>

namespace kantha::noded {

/// Adds to a count for as long as it lives.
class HeldCount {
 public:
  explicit HeldCount(std::int64_t& count, std::int64_t amount = 1)
      : count_(count), amount_(amount) {
    count_ += amount_;
  }
  ~HeldCount() { count_ -= amount_; }
  HeldCount(const HeldCount&) = delete;
  HeldCount& operator=(const HeldCount&) = delete;

 private:
  std::int64_t& count_;
  const std::int64_t amount_;
};

}  // namespace kantha::noded
