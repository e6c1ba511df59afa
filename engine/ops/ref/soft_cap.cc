#include "engine/ops/ref/soft_cap.h"

#include <cmath>

namespace kantha::ops::ref {

void soft_cap(std::span<float> x, float cap) {
  for (float& value : x) value = cap * std::tanh(value / cap);
}

}  // namespace kantha::ops::ref
