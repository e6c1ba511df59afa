#include "engine/sim/continuous_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/sim/prompt_text.h"

namespace kantha::sim {
namespace {

/// The engine may wait a while for somebody's prefix, but not for ever.
constexpr std::int64_t kEmptyTurnsMax = 100'000;

sched::SchedulerOptions scheduler_options(const RunOptions& options) {
  return {.context_max = options.context_max,
          .sequences_max = options.sequences_max,
          .step_tokens_max = options.step_tokens_max,
          .victims = options.victims,
          .foresight = options.foresight};
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::int32_t longest_output(const RunOptions& options, std::int32_t prompt_tokens) {
  const std::int64_t pool = std::int64_t{options.block_count} * options.block_size;
  return static_cast<std::int32_t>(std::min<std::int64_t>(pool, options.context_max)) -
         prompt_tokens;
}

Outcome outcome_of(sched::FinishReason reason) {
  switch (reason) {
    case sched::FinishReason::kDeadline: return Outcome::kDeadline;
    case sched::FinishReason::kStop:
    case sched::FinishReason::kLength: return Outcome::kDone;
    case sched::FinishReason::kAbort:
    case sched::FinishReason::kError: break;
  }
  CHECK(false, "nobody aborts and no step fails here");
}

}  // namespace

ContinuousRun::ContinuousRun(const Workload& workload, const RunOptions& options)
    : workload_(workload),
      options_(options),
      kv_({.block_count = options.block_count,
           .block_size = options.block_size,
           .prefix_caching = options.prefix_caching}),
      scheduler_(scheduler_options(options), kv_),
      budget_(options.step_tokens_max, options.itl_target),
      door_(options),
      line_(workload) {
  trace_.requests.resize(workload.arrivals.size());
}

Result<Trace> ContinuousRun::run() {
  while (true) {
    accept();
    if (scheduler_.empty()) {
      const auto next = line_.next();
      if (!next) break;
      now_ = std::max(now_, next->at);
      continue;
    }
    TRY_OK(step());
  }
  return finish();
}

void ContinuousRun::accept() {
  while (const auto due = line_.take(now_)) {
    RequestRecord& record = trace_.requests[static_cast<std::size_t>(due->index)];
    record.queued = due->at;
    const Arrival& arrival = workload_.arrivals[static_cast<std::size_t>(due->index)];
    const Outcome outcome =
        door_.check(arrival, scheduler_.waiting_count(), scheduler_.waiting_tokens());
    if (outcome == Outcome::kDone) {
      queue(due->index);
    } else {
      end_request(due->index, outcome, due->at);  // the door answers at once
    }
  }
}

void ContinuousRun::queue(std::int32_t index) {
  const Arrival& arrival = workload_.arrivals[static_cast<std::size_t>(index)];
  sched::GenerateSpec spec;
  spec.id = {static_cast<std::uint64_t>(index)};
  // As of a client that names no limit: the scheduler must not know how long an answer gets.
  spec.max_tokens = longest_output(options_, arrival.prompt_tokens);
  spec.stop_token_ids = {kEndToken};
  spec.arrived = trace_.requests[static_cast<std::size_t>(index)].queued;
  spec.tenant = workload_.tenants[static_cast<std::size_t>(arrival.tenant)];
  spec.slo = arrival.slo;
  spec.priority = arrival.priority;
  if (arrival.timeout > Duration::zero()) spec.deadline = spec.arrived + arrival.timeout;
  spec.prompt.reserve(static_cast<std::size_t>(arrival.prompt_tokens));
  for (std::int32_t at = 0; at < arrival.prompt_tokens; ++at) {
    spec.prompt.push_back(token_at(options_.seed, arrival, index, at));
  }
  scheduler_.add(std::move(spec), nullptr);
}

Status ContinuousRun::step() {
  const std::int32_t tokens = budget_.tokens(scheduler_.load());
  const sched::StepPlan& plan = scheduler_.schedule(now_, tokens);
  if (plan.grants.empty()) {
    take_events();  // a deadline may have passed
    if (++empty_turns_ > kEmptyTurnsMax) {
      return internal_error("the scheduler made no progress in " + std::to_string(kEmptyTurnsMax) +
                            " turns; running " + std::to_string(scheduler_.running_count()) +
                            ", waiting " + std::to_string(scheduler_.waiting_count()));
    }
    if (!scheduler_.empty()) now_ += options_.cost.step({});
    return ok_status();
  }
  empty_turns_ = 0;
  const auto outputs = std::ranges::count_if(plan.grants, &sched::Grant::samples);
  const StepWork work{
      .rows = plan.shape.rows, .output_rows = outputs, .context_tokens = plan.shape.context_tokens};
  const Duration cost = options_.cost.step(work);
  if (options_.keep_steps) {
    trace_.steps.push_back({.begin = now_,
                            .cost = cost,
                            .rows = static_cast<std::int32_t>(work.rows),
                            .output_rows = static_cast<std::int32_t>(work.output_rows),
                            .running = scheduler_.running_count(),
                            .waiting = scheduler_.waiting_count(),
                            .blocks_active = kv_.active()});
  }
  budget_.observe(plan.shape, cost);
  now_ += cost;
  trace_.busy += cost;
  trace_.rows += work.rows;
  ++trace_.step_count;
  sample(plan);
  scheduler_.commit(sampled_);
  take_events();
  note_usage(cost);
  if (options_.check_integrity) TRY_OK(scheduler_.check_integrity());
  return ok_status();
}

void ContinuousRun::sample(const sched::StepPlan& plan) {
  sampled_.clear();
  for (const sched::Grant& grant : plan.grants) {
    if (!grant.samples()) continue;
    const auto index = static_cast<std::int32_t>(grant.sequence->spec.id.value);
    const Arrival& arrival = workload_.arrivals[static_cast<std::size_t>(index)];
    const bool last = grant.sequence->output_count() + 1 == arrival.output_tokens;
    const std::int32_t position = grant.sequence->wanted();
    sampled_.push_back(
        {.token = last ? kEndToken : token_at(options_.seed, arrival, index, position)});
  }
}

void ContinuousRun::take_events() {
  for (const sched::AddressedEvent& addressed : scheduler_.take_events()) {
    const sched::TokenEvent& event = addressed.event;
    const auto index = static_cast<std::int32_t>(event.id.value);
    if (event.token) {
      trace_.requests[static_cast<std::size_t>(index)].started = event.first_scheduled;
      note_token(index);
    }
    if (event.finish) end_request(index, outcome_of(*event.finish), now_);
  }
  scheduler_.take_finished();
}

void ContinuousRun::note_token(std::int32_t index) {
  RequestRecord& record = trace_.requests[static_cast<std::size_t>(index)];
  if (record.output_tokens++ == 0) {
    record.first_token = now_;
  } else {
    trace_.itl.add(seconds(now_ - record.last_token));
  }
  record.last_token = now_;
  if (options_.on_token) options_.on_token(index, now_);
}

void ContinuousRun::note_usage(Duration cost) {
  const cache::KvUsage usage = kv_.usage();
  if (usage.tokens_reserved == 0) return;
  const auto used = static_cast<double>(usage.tokens_used);
  trace_.waste.add(1 - used / static_cast<double>(usage.tokens_reserved), seconds(cost));
}

void ContinuousRun::end_request(std::int32_t index, Outcome outcome, TimePoint at) {
  RequestRecord& record = trace_.requests[static_cast<std::size_t>(index)];
  record.outcome = outcome;
  record.end = at;
  line_.ended(index, at);
}

Trace ContinuousRun::finish() {
  const sched::SchedulerCounters& counters = scheduler_.counters();
  trace_.finished = now_;
  trace_.recomputed_rows = counters.recomputed_tokens;
  trace_.preemptions = counters.preemptions;
  trace_.prefix_queries = counters.prefix_queries;
  trace_.prefix_hits = counters.prefix_hits;
  return std::move(trace_);
}

}  // namespace kantha::sim
