#include "cli/step_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/sim/simulation.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kLinesMax = 40;
constexpr std::int64_t kStepsMax = 100;
constexpr Duration kStep = std::chrono::milliseconds(1);  // of CostModel::unit

std::string lines_of(std::span<const std::int32_t> lengths, const sim::Trace& trace) {
  std::string out;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const sim::RequestRecord& record = trace.requests[i];
    const auto before = static_cast<std::size_t>((record.started - TimePoint{}) / kStep);
    const auto held = static_cast<std::size_t>((record.end - record.started) / kStep);
    const auto given = static_cast<std::size_t>(record.output_tokens);
    out += fmt::format("  {:>3} of {:<3} |{}{}{}\n", i + 1, lengths[i], std::string(before, ' '),
                       std::string(given, '#'), std::string(held - given, '.'));
  }
  return out;
}

}  // namespace

Result<StepPicture> step_picture(std::span<const std::int32_t> lengths, std::int32_t slots,
                                 const sim::Policy& policy) {
  sim::RunOptions options;
  options.cost = sim::CostModel::unit();
  options.sequences_max = slots;
  // Nothing but the slots limits: every step has room for each of them.
  options.step_tokens_max = slots;
  options.context_max = 1 + *std::ranges::max_element(lengths);
  options.block_count = slots * (options.context_max / options.block_size + 3);
  options.requests_queued_max = static_cast<std::int32_t>(lengths.size()) + 1;
  TRY(const sim::Trace trace, sim::run(sim::fixed_outputs(lengths), policy, options));
  std::int64_t tokens = 0;
  for (const sim::RequestRecord& record : trace.requests) tokens += record.output_tokens;
  StepPicture out{
      .steps = trace.step_count,
      .slots_used = static_cast<double>(tokens) / static_cast<double>(trace.step_count * slots),
      .picture = {}};
  if (lengths.size() <= kLinesMax && trace.step_count <= kStepsMax) {
    out.picture = lines_of(lengths, trace);
  }
  return out;
}

}  // namespace kantha::cli
