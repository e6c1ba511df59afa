#include "engine/exec/step_sampler.h"

#include "base/check.h"

namespace kantha::exec {
namespace {

/// What the row's request changes in it now.
LogitEdits edits_of(sched::Sequence& sequence) {
  LogitEdits edits;
  if (sequence.output_count() < sequence.spec.min_tokens) edits.masked = sequence.end_ids;
  const sched::LogitRules* rules = sequence.spec.rules.get();
  if (rules == nullptr) return edits;
  edits.rules = rules;
  edits.output =
      std::span(sequence.tokens).subspan(static_cast<std::size_t>(sequence.prompt_count));
  if (rules->counts_output()) {
    sequence.counts.follow(sequence.tokens, sequence.prompt_count, rules->counts_prompt());
    edits.counts = sequence.counts.entries();
  }
  return edits;
}

}  // namespace

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
    sched::Sequence& sequence = *job.sequence;
    const DrawPoint point{.position = static_cast<std::uint64_t>(sequence.output_count()),
                          .edits = edits_of(sequence)};
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
    const bool plain = sampling.logprobs < 0 && grant.sequence->spec.rules == nullptr;
    if (plain && is_greedy(sampling)) {
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
