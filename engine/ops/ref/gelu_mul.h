#pragma once

#include <span>

namespace kantha::ops::ref {

/// out [n] = gelu(gate [n]) · up [n] with gelu(x) = x / 2 · (1 + tanh(sqrt(2 / π) · (x + 0.044715
/// x³))), f32; out may be gate or up (Hendrycks, Gimpel: "GELUs", 2016, the tanh form). Any thread.
void gelu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out);

}  // namespace kantha::ops::ref
