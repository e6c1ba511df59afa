#include "engine/sim/length_mix.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>

#include "base/rng.h"

namespace kantha::sim {
namespace {

constexpr double kTokensMax = 1 << 20;
constexpr double kSigmaMax = 4;

/// Standard normal (Box and Muller, 1958).
double normal(std::uint64_t seed, std::uint64_t counter) {
  const double radius = std::sqrt(-2 * std::log(1 - random_unit(seed, 2 * counter)));
  return radius * std::cos(2 * std::numbers::pi * random_unit(seed, 2 * counter + 1));
}

bool read_number(const std::string& text, double min, double max, double& number) {
  char* end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && number >= min && number <= max;
}

Result<LengthMix> mix_from_text(const char* field, const std::string& text) {
  const std::size_t tilde = text.find('~');
  LogNormalPart part;
  if (!read_number(text.substr(0, tilde), 1, kTokensMax, part.median)) {
    return invalid_argument(std::string("shape: ") + field +
                            ": expected tokens in [1, 1048576], got \"" + text + "\"");
  }
  if (tilde != std::string::npos &&
      !read_number(text.substr(tilde + 1), 0, kSigmaMax, part.sigma)) {
    return invalid_argument(std::string("shape: ") + field +
                            ": expected a spread in [0, 4] after ~, got \"" + text + "\"");
  }
  return LengthMix{.parts = {part}};
}

}  // namespace

std::int32_t LengthMix::draw(std::uint64_t seed, std::uint64_t counter) const {
  double weights = 0;
  for (const LogNormalPart& part : parts) weights += part.weight;
  double left = random_unit(seed ^ 0x9e3779b97f4a7c15U, counter) * weights;
  const LogNormalPart* chosen = &parts.back();
  for (const LogNormalPart& part : parts) {
    if (left < part.weight) {
      chosen = &part;
      break;
    }
    left -= part.weight;
  }
  double length = chosen->median;
  if (chosen->sigma > 0) length *= std::exp(chosen->sigma * normal(seed, counter));
  return static_cast<std::int32_t>(
      std::clamp(std::round(length), static_cast<double>(min), static_cast<double>(max)));
}

LengthMix fixed_length(std::int32_t tokens) {
  return {.parts = {{.weight = 1, .median = static_cast<double>(tokens), .sigma = 0}}};
}

RequestShape sharegpt_shape() {
  return {.prompt = {.parts = {{0.75, 25, 1.0}, {0.25, 385, 0.8}}, .min = 4, .max = 2048},
          .output = {.parts = {{0.40, 40, 1.0}, {0.60, 435, 0.6}}, .min = 1, .max = 2048}};
}

Result<RequestShape> shape_from_text(std::string_view text) {
  if (text == "sharegpt") return sharegpt_shape();
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return invalid_argument("shape: expected \"sharegpt\" or PROMPT:OUTPUT, got \"" +
                            std::string(text) + "\"");
  }
  RequestShape shape;
  TRY(shape.prompt, mix_from_text("prompt", std::string(text.substr(0, colon))));
  TRY(shape.output, mix_from_text("output", std::string(text.substr(colon + 1))));
  return shape;
}

}  // namespace kantha::sim
