#include "bench/load/workload.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/load/draws.h"

namespace kantha::bench {
namespace {

constexpr int kTokensMax = 1'000'000;

/// A workload's own lengths; a law counts where it has a median.
struct Lengths {
  LengthRange input = {};
  LengthLaw input_law = {};
  LengthRange output = {};
  LengthLaw output_law = {};
  bool has_prefix = false;
};

constexpr Lengths kRandom = {.input = {128, 128}, .output = {64, 64}};
constexpr Lengths kShareGpt = {.input_law = kShareGptInput, .output_law = kShareGptOutput};
constexpr Lengths kSharedPrefix = {.input = {32, 32}, .output = {32, 32}, .has_prefix = true};
constexpr Lengths kLongPrompt = {.input = {6000, 6000}, .output = {32, 32}};

std::optional<int> parse_tokens(std::string_view text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kTokensMax) return std::nullopt;
  return value;
}

int draw(Draws& draws, const std::optional<LengthRange>& wanted, const LengthRange& own,
         const LengthLaw& law) {
  if (!wanted && law.median > 0) {
    const bool is_first = draws.unit() < law.weight;
    const double median = is_first ? law.median : law.other_median;
    const double sigma = is_first ? law.sigma : law.other_sigma;
    const double value = median * std::exp(sigma * draws.normal());
    return static_cast<int>(
        std::clamp(std::round(value), double(law.range.min), double(law.range.max)));
  }
  const LengthRange& range = wanted ? *wanted : own;
  return draws.between(range.min, range.max);
}

/// mixed: 70 % ShareGPT-like, 20 % with a shared prefix, 10 % long prompts.
const Lengths& lengths_of(const std::string& name, double chance) {
  if (name == "sharegpt") return kShareGpt;
  if (name == "shared-prefix") return kSharedPrefix;
  if (name == "long-prompt") return kLongPrompt;
  if (name != "mixed") return kRandom;
  if (chance < 0.7) return kShareGpt;
  return chance < 0.9 ? kSharedPrefix : kLongPrompt;
}

}  // namespace

Result<LengthRange> parse_lengths(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto min = parse_tokens(std::string_view(text).substr(0, colon));
  const auto max =
      colon == std::string::npos ? min : parse_tokens(std::string_view(text).substr(colon + 1));
  if (!min || !max || *min > *max) {
    return invalid_argument(flag + ": expected N or MIN:MAX with numbers in [1, " +
                            std::to_string(kTokensMax) + "], got \"" + text + "\"");
  }
  return LengthRange{*min, *max};
}

const std::vector<std::string>& workload_names() {
  static const std::vector<std::string> names = {"random", "sharegpt", "shared-prefix",
                                                 "long-prompt", "mixed"};
  return names;
}

Status check_workload(const WorkloadOptions& options) {
  if (std::ranges::find(workload_names(), options.name) != workload_names().end()) {
    return ok_status();
  }
  std::string known;
  for (const std::string& name : workload_names()) known += (known.empty() ? "" : ", ") + name;
  return invalid_argument("--workload: unknown \"" + options.name + "\"; known: " + known);
}

RequestShape request_shape(const WorkloadOptions& options, std::uint64_t index) {
  Draws draws(options.seed, Stream::kLengths, index);
  const Lengths& lengths = lengths_of(options.name, draws.unit());
  RequestShape shape;
  shape.input_tokens = draw(draws, options.input, lengths.input, lengths.input_law);
  shape.output_tokens = draw(draws, options.output, lengths.output, lengths.output_law);
  if (lengths.has_prefix) {
    shape.prefix_index = draws.between(0, std::max(1, options.prefix_count) - 1);
    shape.prefix_tokens = options.prefix_tokens;
    shape.input_tokens += options.prefix_tokens;
  }
  return shape;
}

bool fit_to_window(RequestShape& shape, int window) {
  if (window <= 0 || shape.input_tokens + shape.output_tokens <= window) return false;
  shape.output_tokens = std::clamp(window - shape.input_tokens, 1, shape.output_tokens);
  shape.input_tokens = std::clamp(window - shape.output_tokens, 1, shape.input_tokens);
  shape.prefix_tokens = std::min(shape.prefix_tokens, shape.input_tokens);
  return true;
}

}  // namespace kantha::bench
