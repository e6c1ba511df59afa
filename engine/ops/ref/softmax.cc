#include "engine/ops/ref/softmax.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace kantha::ops::ref {

void softmax(std::span<float> scores) {
  CHECK(!scores.empty(), "at least one score");
  const float highest = *std::ranges::max_element(scores);
  double sum = 0;
  for (float& score : scores) {
    score = std::exp(score - highest);
    sum += double{score};
  }
  const auto scale = static_cast<float>(1.0 / sum);
  for (float& score : scores) score *= scale;
}

}  // namespace kantha::ops::ref
