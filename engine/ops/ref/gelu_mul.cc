#include "engine/ops/ref/gelu_mul.h"

#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace kantha::ops::ref {

void gelu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  CHECK(gate.size() == up.size() && gate.size() == out.size(), "three spans of one length");
  constexpr float kRoot = 0.7978845608028654F;  // sqrt(2 / pi)
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float x = gate[i];
    const float inner = kRoot * (x + 0.044715F * x * x * x);
    out[i] = 0.5F * x * (1.0F + std::tanh(inner)) * up[i];
  }
}

}  // namespace kantha::ops::ref
