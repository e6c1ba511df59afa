#pragma once

#include <span>

namespace kantha::ops::ref {

/// out [n] = silu(gate [n]) · up [n] with silu(x) = x / (1 + e^−x), f32; out may be gate or up
/// (Shazeer: "GLU variants improve transformer", 2020). Any thread.
void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> out);

}  // namespace kantha::ops::ref
