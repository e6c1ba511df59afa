#include "engine/exec/engine_loop.h"

#include <algorithm>
#include <utility>

namespace kantha::exec {
namespace {

sched::SchedulerOptions scheduler_options(const EngineOptions& options) {
  return {.context_max = options.context_max,
          .sequences_max = options.sequences_max,
          .step_tokens_max = options.step_tokens_max,
          .end_tokens = options.end_tokens,
          .score_rows_max = options.score_rows_max,
          .foresight = options.foresight};
}

cache::KvCacheOptions cache_options(const EngineOptions& options) {
  return {.block_count = options.kv.block_count,
          .block_size = options.kv.block_size,
          .groups = options.kv_groups,
          .prefix_caching = options.prefix_caching};
}

/// The longest sequence that the whole pool can hold; every group's blocks come out of it.
std::int64_t longest_sequence(const EngineOptions& options) {
  const cache::KvCacheOptions kv = cache_options(options);
  std::int32_t fits = 0;
  std::int32_t too_long = options.context_max + 1;
  while (fits + 1 < too_long) {
    const std::int32_t tokens = fits + (too_long - fits) / 2;
    const bool held = cache::blocks_for(kv, tokens, options.step_tokens_max) <= kv.block_count;
    (held ? fits : too_long) = tokens;
  }
  return fits;
}

std::size_t logit_rows_max(const EngineOptions& options) {
  return static_cast<std::size_t>(options.sequences_max + options.score_rows_max);
}

}  // namespace

gateway::EngineLimits limits_of(const EngineOptions& options, std::int32_t vocabulary_size,
                                std::int32_t hidden_size) {
  return {.context_max = options.context_max,
          .pool_tokens = longest_sequence(options),
          .vocabulary_size = vocabulary_size,
          .requests_queued_max = options.requests_queued_max,
          .prompt_tokens_queued_max = options.prompt_tokens_queued_max,
          .ttft_target = options.ttft_target,
          .score_rows_max = options.score_rows_max,
          .hidden_size = hidden_size,
          .sequences_max = options.sequences_max};
}

EngineLoop::EngineLoop(std::unique_ptr<Forward> forward, EngineOptions options, const Clock& clock,
                       gateway::Inbox& inbox)
    : options_(std::move(options)),
      clock_(clock),
      inbox_(inbox),
      forward_(std::move(forward)),
      kv_(cache_options(options_)),
      scheduler_(scheduler_options(options_), kv_),
      builder_(options_.kv.block_size, kv_.group_count()),
      budget_(options_.step_tokens_max, options_.itl_target),
      // Left as it is: pages that no step writes are never touched.
      logits_(std::make_unique_for_overwrite<float[]>(
          logit_rows_max(options_) * static_cast<std::size_t>(forward_->vocabulary_size()))),
      maxima_(std::make_unique_for_overwrite<float[]>(
          logit_rows_max(options_) *
          logit_blocks(static_cast<std::size_t>(forward_->vocabulary_size())))),
      sums_(std::make_unique_for_overwrite<float[]>(
          logit_rows_max(options_) *
          logit_blocks(static_cast<std::size_t>(forward_->vocabulary_size())))),
      sampler_(forward_->threads()),
      pool_(forward_->hidden_size()) {
  CHECK(std::ranges::equal(options_.kv_groups, forward_->groups()), "the forward's groups");
  CHECK(options_.step_tokens_max <= forward_->rows_max(), "a step's rows fit the forward");
  CHECK(options_.score_rows_max >= 0 &&
            std::cmp_less_equal(logit_rows_max(options_), forward_->logit_rows_max()),
        "a step's logits fit the forward");
  CHECK(options_.requests_queued_max >= 1 && options_.prompt_tokens_queued_max >= 0);
  for (const TokenId token : options_.end_tokens) {
    CHECK(token >= 0 && token < forward_->vocabulary_size(), "end tokens are in the vocabulary");
  }
  report();
}

void EngineLoop::warm_up() {
  CHECK(steps_ == 0 && scheduler_.empty(), "before the first turn");
  constexpr std::int64_t kPrompt = 16;
  const auto prompt = static_cast<std::int32_t>(
      std::min({kPrompt, std::int64_t{options_.step_tokens_max}, longest_sequence(options_) - 1}));
  if (prompt < 1) return;
  cache::KvCacheOptions scratch = kv_.options();
  scratch.block_count = cache::blocks_for(scratch, prompt + 1, prompt);
  // A first short step pays for pages and caches: only what follows tells what steps cost.
  for (const bool tells : {false, true}) {
    cache::KvCache kv(scratch);
    sched::Scheduler scheduler(scheduler_options(options_), kv);
    sched::GenerateSpec spec;
    for (std::int32_t i = 0; i < (tells ? prompt : std::min(prompt, 2)); ++i) {
      spec.prompt.push_back(i % forward_->vocabulary_size());
    }
    spec.max_tokens = tells ? 2 : 1;
    spec.ignore_eos = true;
    scheduler.add(std::move(spec), nullptr);
    while (!scheduler.empty()) {
      LapTimer timer(clock_);
      const sched::StepPlan& plan = scheduler.schedule(timer.last(), options_.step_tokens_max);
      const LogitRows rows = run(plan, builder_.build(plan));
      sampler_.sample(plan, rows, *forward_, sampled_);
      scheduler.commit(sampled_);
      if (tells) budget_.observe(plan.shape, timer.lap());
    }
  }
  report();
}

bool EngineLoop::turn(Duration patience) {
  gateway::Inbox::Delivery delivery =
      inbox_.receive(scheduler_.empty() ? patience : Duration::zero());
  const bool closed = delivery.closed;
  times_ = {};
  LapTimer timer(clock_);
  accept(std::move(delivery));
  times_.accept = timer.lap();
  if (closed) {
    scheduler_.abort_all();
  } else {
    step(timer);
  }
  report();
  times_.report = timer.lap();
  if (times_.forward > Duration::zero()) {
    // Together, so that nobody ever reads a forward pass without its step.
    step_total_ += times_.own() + times_.forward;
    forward_total_ += times_.forward;
  }
  return !closed;
}

void EngineLoop::accept(gateway::Inbox::Delivery delivery) {
  for (gateway::Inbox::Request& request : delivery.requests) {
    scheduler_.add(std::move(request.spec), std::move(request.sink));
  }
  for (const RequestId id : delivery.aborts) scheduler_.abort(id);
}

void EngineLoop::step(LapTimer& timer) {
  step_tokens_ = budget_.tokens(scheduler_.load());
  const sched::StepPlan& plan = scheduler_.schedule(timer.last(), step_tokens_);
  times_.schedule = timer.lap();
  if (plan.grants.empty()) return;
  const Batch batch = builder_.build(plan);
  times_.build = timer.lap();
  for (const cache::BlockCopy& copy : plan.copies) forward_->copy_block(copy.from, copy.to);
  const LogitRows rows = run(plan, batch);
  times_.forward = timer.lap();
  sampler_.sample(plan, rows, *forward_, sampled_);
  pool_.add(plan);
  times_.sample = timer.lap();
  scheduler_.commit(sampled_);
  times_.commit = timer.lap();
  last_step_ = timer.last();
  ++steps_;
  step_sizes_.add(static_cast<std::int64_t>(batch.token_ids.size()));
  budget_.observe(plan.shape, times_.forward + times_.own());
#ifndef NDEBUG
  const Status whole = scheduler_.check_integrity();
  CHECK(whole.ok(), whole.error().message.c_str());
#endif
}

LogitRows EngineLoop::run(const sched::StepPlan& plan, const Batch& batch) {
  const auto vocabulary = static_cast<std::size_t>(forward_->vocabulary_size());
  const std::size_t rows = batch.logit_rows.size();
  const std::span logits(logits_.get(), rows * vocabulary);
  const std::span maxima(maxima_.get(), rows * logit_blocks(vocabulary));
  const std::span sums(sums_.get(), maxima.size());
  forward_->run_with_notes(batch, logits,
                           {.maxima = maxima,
                            .inverse_temperatures = sampler_.inverse_temperatures(plan),
                            .sums = sums,
                            .states = pool_.room(plan, rows)});
  return {.logits = logits, .maxima = maxima, .sums = sums};
}

void EngineLoop::report() {
  scheduler_.take_finished(finished_);
  inbox_.publish({.stats = stats(), .finished = finished_});
  scheduler_.take_events(events_);
  outbox_.send(events_);
}

gateway::EngineStats EngineLoop::stats() const {
  const sched::SchedulerCounters& counters = scheduler_.counters();
  gateway::EngineStats stats;
  stats.blocks_total = kv_.total();
  stats.blocks_active = kv_.active();
  stats.blocks_cached = kv_.cached();
  stats.blocks_free = kv_.idle() - kv_.cached();
  stats.block_size = kv_.block_size();
  stats.waiting_tokens = scheduler_.waiting_tokens();
  stats.requests_running = scheduler_.running_count();
  stats.requests_waiting = scheduler_.waiting_count();
  stats.prompt_tokens_total = counters.prompt_tokens;
  stats.generation_tokens_total = counters.generation_tokens;
  stats.prefix_queries_total = counters.prefix_queries;
  stats.prefix_hits_total = counters.prefix_hits;
  stats.preemptions_total = counters.preemptions;
  stats.recomputed_tokens_total = counters.recomputed_tokens;
  const cache::KvUsage usage = kv_.usage();
  stats.kv_tokens_reserved = usage.tokens_reserved;
  stats.kv_tokens_used = usage.tokens_used;
  stats.block_copies_total = counters.block_copies;
  stats.forks_total = counters.forks;
  stats.shared_waits_total = counters.shared_waits;
  stats.part_hit_tokens_total = counters.part_hit_tokens;
  for (std::size_t i = 0; i < sched::kFinishReasonCount; ++i)
    stats.finished_total[i] = counters.finished[i];
  stats.steps_total = steps_;
  stats.step_sizes = step_sizes_;
  stats.last_step = last_step_;
  const sched::StepLoad load = scheduler_.load();
  stats.step_tokens_budget = step_tokens_;
  stats.prefill_tokens_per_second = budget_.prefill_tokens_per_second();
  stats.decode_step_seconds =
      std::chrono::duration<double>(budget_.decode_step(load.decodes, load.decode_context)).count();
  stats.step_seconds_total = std::chrono::duration<double>(step_total_).count();
  stats.forward_seconds_total = std::chrono::duration<double>(forward_total_).count();
  return stats;
}

}  // namespace kantha::exec
