#include "engine/sim/cost_model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace kantha::sim {
namespace {

constexpr double kMsMax = 1e6;

struct Key {
  const char* name;
  double CostModel::* value;
};
constexpr Key kKeys[] = {{"fixed_ms", &CostModel::fixed_ms},
                         {"row_ms", &CostModel::row_ms},
                         {"output_row_ms", &CostModel::output_row_ms},
                         {"context_us", &CostModel::context_us}};

Status read_pair(std::string_view pair, CostModel& cost) {
  const std::size_t equals = pair.find('=');
  const std::string key(pair.substr(0, equals));
  const std::string value(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
  for (const Key& known : kKeys) {
    if (key != known.name) continue;
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(number >= 0 && number <= kMsMax)) {
      return invalid_argument(
          fmt::format("cost: {}: expected a number in [0, {}], got \"{}\"", key, kMsMax, value));
    }
    cost.*known.value = number;
    return ok_status();
  }
  return invalid_argument("cost: unknown key \"" + key +
                          "\"; known: fixed_ms, row_ms, output_row_ms, context_us");
}

}  // namespace

Duration CostModel::step(const StepWork& work) const {
  const double ms = fixed_ms + row_ms * static_cast<double>(work.rows) +
                    output_row_ms * static_cast<double>(work.output_rows) +
                    context_us / 1000 * static_cast<double>(work.context_tokens);
  return Duration(std::llround(ms * 1e6));
}

Result<CostModel> cost_model_from_text(std::string_view text) {
  CostModel cost;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    TRY_OK(read_pair(text.substr(0, comma), cost));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (cost.step({1, 1, 1}) <= Duration::zero()) {
    return invalid_argument("cost: a step must take time; every part is 0");
  }
  return cost;
}

std::string to_text(const CostModel& cost) {
  return fmt::format("fixed_ms={},row_ms={},output_row_ms={},context_us={}", cost.fixed_ms,
                     cost.row_ms, cost.output_row_ms, cost.context_us);
}

}  // namespace kantha::sim
