#include "noded/gateway/outcome_sample.h"

#include <algorithm>

#include "noded/gateway/forward_target.h"

namespace kantha::noded {
namespace {

constexpr int kServerError = 500;
constexpr int kUnavailable = 503;
constexpr int kBadRequest = 400;
constexpr Duration kGaveUpAfter = std::chrono::seconds(30);

bool client_left(const ForwardOutcome& outcome) {
  return outcome.ended_by == EndedBy::kClient || outcome.ended_by == EndedBy::kSlowClient;
}

bool gave_up(const ForwardOutcome& outcome) {
  return outcome.ended_by == EndedBy::kClient && !outcome.first_byte &&
         outcome.total - outcome.held >= kGaveUpAfter;
}

bool has_failed(const ForwardOutcome& outcome) {
  if (outcome.status >= kServerError) return outcome.status != kUnavailable;
  return outcome.ended_by == EndedBy::kDoor && outcome.status < kBadRequest;
}

void note_latencies(const ForwardOutcome& outcome, ServiceSample& sample) {
  const std::int64_t tokens = outcome.completion_tokens.value_or(0);
  if (!outcome.first_byte || tokens <= 0) return;
  if (!outcome.streamed) {
    return sample.per_token[static_cast<std::size_t>(PaceKind::kWhole)].add(
        (outcome.total - outcome.held) / tokens);
  }
  sample.first_token[prompt_class(outcome.prompt_tokens.value_or(0))].add(
      std::max<Duration>(Duration::zero(), *outcome.first_byte - outcome.held));
  // A stream that went on elsewhere has a pause that is nobody's pace.
  if (tokens < 2 || outcome.resumes > 0) return;
  sample.per_token[static_cast<std::size_t>(PaceKind::kStream)].add(
      (outcome.total - *outcome.first_byte) / (tokens - 1));
}

}  // namespace

void note_outcome(const ForwardOutcome& outcome, ServiceSample& sample) {
  if (outcome.target != kLocalTargetName) return;
  if (client_left(outcome) && !gave_up(outcome)) return;
  ++sample.answered;
  if (has_failed(outcome) || gave_up(outcome)) {
    ++sample.failed;
  } else if (outcome.status < kBadRequest) {
    note_latencies(outcome, sample);
  }
}

}  // namespace kantha::noded
