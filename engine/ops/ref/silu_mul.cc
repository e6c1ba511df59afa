#include "engine/ops/ref/silu_mul.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace kantha::ops::ref {

void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  CHECK(gate.size() == up.size() && gate.size() == out.size(), "three spans of one length");
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
  }
}

}  // namespace kantha::ops::ref
