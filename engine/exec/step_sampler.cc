#include "engine/exec/step_sampler.h"

#include "base/check.h"

namespace kantha::exec {

std::span<const float> StepSampler::inverse_temperatures(const sched::StepPlan& plan) {
  inverse_temperatures_.clear();
  for (const sched::Grant& grant : plan.grants) {
    if (!grant.samples()) continue;
    inverse_temperatures_.push_back(inverse_sum_temperature(grant.sequence->spec.sampling));
  }
  return inverse_temperatures_;
}

void StepSampler::sample(const sched::StepPlan& plan, LogitRows rows, Forward& forward,
                         std::vector<sched::SampledToken>& sampled) {
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  const std::size_t blocks = logit_blocks(vocabulary);
  sampled.clear();
  sampled.resize(rows.logits.size() / vocabulary);
  shared_.clear();
  auto visit = [&](const Job& job, int thread) {
    const sched::Sequence& sequence = *job.sequence;
    DrawPoint point{.position = static_cast<std::uint64_t>(sequence.output_count())};
    if (sequence.output_count() < sequence.spec.min_tokens) point.masked = sequence.end_ids;
    const LogitRow row{.logits = rows.logits.subspan(job.row * vocabulary, vocabulary),
                       .maxima = rows.maxima.subspan(job.row * blocks, blocks),
                       .sums = rows.sums.subspan(job.row * blocks, blocks)};
    sampled[job.row] =
        samplers_[static_cast<std::size_t>(thread)].sample(row, sequence.spec.sampling, point);
  };
  std::size_t count = 0;
  for (const sched::Grant& grant : plan.grants) {
    if (!grant.samples()) continue;
    const Job job{.sequence = grant.sequence, .row = count++};
    const sched::SamplingParams& sampling = grant.sequence->spec.sampling;
    if (is_greedy(sampling) && sampling.logprobs < 0) {
      visit(job, 0);
    } else {
      shared_.push_back(job);
    }
  }
  CHECK(count == sampled.size(), "a row for each grant that samples");
  auto visit_shared = [&](std::int32_t item, int thread) {
    visit(shared_[static_cast<std::size_t>(item)], thread);
  };
  forward.for_each(static_cast<std::int32_t>(shared_.size()), visit_shared);
}

}  // namespace kantha::exec
