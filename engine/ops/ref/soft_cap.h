#pragma once

#include <span>

namespace kantha::ops::ref {

/// x [n] becomes cap · tanh(x / cap), in place, f32; cap above 0 (Gemma 2's scores and logits). Any
/// thread.
void soft_cap(std::span<float> x, float cap);

}  // namespace kantha::ops::ref
