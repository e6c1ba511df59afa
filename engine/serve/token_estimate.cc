#include "engine/serve/token_estimate.h"

#include <algorithm>
#include <cmath>

namespace kantha::serve {
namespace {

constexpr std::int64_t kBytesMin = 512;   // of a text worth learning from
constexpr double kMemoryTokens = 32'768;  // what lies further back counts for half
constexpr double kBytesPerTokenMin = 0.5;
constexpr double kBytesPerTokenMax = 16;

}  // namespace

std::int64_t TokenEstimate::tokens(std::int64_t bytes) const {
  const double ratio = std::clamp(bytes_per_token(), kBytesPerTokenMin, kBytesPerTokenMax);
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) / ratio));
}

void TokenEstimate::learn(std::int64_t bytes, std::int64_t tokens) {
  if (bytes < kBytesMin || tokens < 1) return;
  bytes_ += static_cast<double>(bytes);
  tokens_ += static_cast<double>(tokens);
  if (tokens_ <= kMemoryTokens) return;
  const double keep = kMemoryTokens / 2 / tokens_;
  bytes_ *= keep;
  tokens_ *= keep;
}

}  // namespace kantha::serve
