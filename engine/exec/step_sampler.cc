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
  if (sequence.grammar) {
    edits.grammar = &*sequence.grammar;
    edits.end_ids = sequence.end_ids;
  }
  edits.output =
      std::span(sequence.tokens).subspan(static_cast<std::size_t>(sequence.prompt_count));
  if (rules->counts_output()) {
    sequence.counts.follow(sequence.tokens, sequence.prompt_count, rules->counts_prompt());
    edits.counts = sequence.counts.entries();
  }
  return edits;
}

/// Why a grammar's row cannot be sampled, or could not.
const char* grammar_error(const sched::Sequence& sequence) {
  if (!sequence.grammar) return nullptr;
  if (sequence.grammar->is_overrun()) {
    return "the grammar can be read in too many ways at once to be followed";
  }
  return sequence.off_grammar ? "kantha.resume: its tokens do not follow the grammar" : nullptr;
}

/// An end that the request brought about.
sched::SampledToken refused(const char* why) { return {.error = why, .forbidden = true}; }

}  // namespace

std::span<const float> StepSampler::inverse_temperatures(const sched::StepPlan& plan) {
  inverse_temperatures_.clear();
  for (const sched::Grant& grant : plan.grants) {
    const sched::ScoredRows scored = sched::scored_rows(grant);
    const auto rows = static_cast<std::size_t>(scored.end - scored.begin);
    inverse_temperatures_.insert(inverse_temperatures_.end(), rows, 1.0F);
    if (!grant.samples()) continue;
    inverse_temperatures_.push_back(inverse_sum_temperature(grant.sequence->spec.sampling));
  }
  return inverse_temperatures_;
}

/// The step's rows in the order of the batch: of each grant those that score, then its last.
void StepSampler::list(const sched::StepPlan& plan) {
  quick_.clear();
  shared_.clear();
  results_ = 0;
  std::size_t row = 0;
  for (const sched::Grant& grant : plan.grants) {
    const sched::ScoredRows scored = sched::scored_rows(grant);
    for (std::int32_t position = scored.begin; position < scored.end; ++position) {
      shared_.push_back(
          {.sequence = grant.sequence, .row = row++, .result = kScore, .position = position});
    }
    if (!grant.samples()) continue;
    const sched::SamplingParams& sampling = grant.sequence->spec.sampling;
    const bool plain = sampling.logprobs < 0 && grant.sequence->spec.rules == nullptr;
    (plain && is_greedy(sampling) ? quick_ : shared_)
        .push_back({.sequence = grant.sequence, .row = row++, .result = results_++});
  }
}

void StepSampler::sample(const sched::StepPlan& plan, LogitRows rows, Forward& forward,
                         std::vector<sched::SampledToken>& sampled) {
  const auto vocabulary = static_cast<std::size_t>(forward.vocabulary_size());
  const std::size_t blocks = logit_blocks(vocabulary);
  list(plan);
  CHECK((quick_.size() + shared_.size()) * vocabulary == rows.logits.size(), "a row for each");
  sampled.clear();
  sampled.resize(results_);
  auto visit = [&](const Job& job, int thread) {
    sched::Sequence& sequence = *job.sequence;
    const LogitRow row{.logits = rows.logits.subspan(job.row * vocabulary, vocabulary),
                       .maxima = rows.maxima.subspan(job.row * blocks, blocks),
                       .sums = rows.sums.subspan(job.row * blocks, blocks)};
    Sampler& sampler = samplers_[static_cast<std::size_t>(thread)];
    if (job.result == kScore) {
      const auto place = static_cast<std::size_t>(job.position);
      sampler.score(row, sequence.tokens[place + 1], *sequence.scores, place);
      return;
    }
    sched::SampledToken& result = sampled[job.result];
    if (const char* why = grammar_error(sequence)) {
      result = refused(why);
      return;
    }
    const DrawPoint point{.position = static_cast<std::uint64_t>(sequence.output_count()),
                          .edits = edits_of(sequence)};
    result = sampler.sample(row, sequence.spec.sampling, point);
    if (const char* why = grammar_error(sequence)) result = refused(why);
  };
  for (const Job& job : quick_) visit(job, 0);
  auto visit_shared = [&](std::int32_t item, int thread) {
    visit(shared_[static_cast<std::size_t>(item)], thread);
  };
  forward.for_each(static_cast<std::int32_t>(shared_.size()), visit_shared);
}

}  // namespace kantha::exec
