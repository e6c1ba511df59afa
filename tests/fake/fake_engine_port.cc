#include "tests/fake/fake_engine_port.h"

#include <condition_variable>
#include <deque>
#include <thread>
#include <utility>

namespace kantha::fake {

using sched::TokenEvent;

namespace {

std::shared_ptr<const sched::PromptScores> scores_of(const sched::GenerateSpec& spec) {
  if (spec.prompt_logprobs < 0) return nullptr;
  auto scores = std::make_shared<sched::PromptScores>(static_cast<std::int32_t>(spec.prompt.size()),
                                                      spec.prompt_logprobs);
  auto best = scores->best.begin();
  for (std::size_t i = 0; i < scores->logprobs.size(); ++i) {
    scores->logprobs[i] = -0.25F * static_cast<float>(i + 1);
    scores->ranks[i] = 1;
    for (std::int32_t k = 0; k < scores->top; ++k) {
      *best++ = {.token = spec.prompt[i + 1] + k,
                 .logprob = scores->logprobs[i] - static_cast<float>(k)};
    }
  }
  scores->count = scores->size();
  return scores;
}

}  // namespace

/// The foreign thread; runs its jobs in order.
struct FakeEnginePort::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  bool ending = false;
  std::thread thread{[this] { loop(); }};

  void loop() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || !jobs.empty(); });
      if (jobs.empty()) return;
      auto job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }
};

FakeEnginePort::FakeEnginePort(gateway::EngineLimits limits)
    : limits_(limits), worker_(std::make_unique<Worker>()) {
  script_ = [](const sched::GenerateSpec&) { return FakeReply{}; };
  stats_.blocks_total = 100;
  stats_.blocks_free = 100;
}

FakeEnginePort::~FakeEnginePort() {
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->ending = true;
  }
  worker_->changed.notify_all();
  worker_->thread.join();
}

void FakeEnginePort::run(std::function<void()> work) {
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->jobs.push_back(std::move(work));
  }
  worker_->changed.notify_all();
}

void FakeEnginePort::on_submit(std::function<FakeReply(const sched::GenerateSpec&)> script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void FakeEnginePort::refuse(Status refusal, Status precheck_refusal) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(refusal);
  precheck_refusal_ = std::move(precheck_refusal);
}

void FakeEnginePort::set_stats(const gateway::EngineStats& stats) {
  const std::lock_guard lock(mutex_);
  stats_ = stats;
}

std::vector<sched::GenerateSpec> FakeEnginePort::submitted() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

std::vector<RequestId> FakeEnginePort::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

std::size_t FakeEnginePort::open_requests() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

gateway::QueueDemand FakeEnginePort::last_precheck() const {
  const std::lock_guard lock(mutex_);
  return last_precheck_;
}

Status FakeEnginePort::precheck(gateway::QueueDemand demand) const {
  const std::lock_guard lock(mutex_);
  last_precheck_ = demand;
  return precheck_refusal_;
}

gateway::EngineStats FakeEnginePort::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

Status FakeEnginePort::submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) {
  const std::lock_guard lock(mutex_);
  if (!refusal_.ok()) return refusal_;
  const RequestId id = spec.id;
  open_[id.value] = {.sink = std::move(sink),
                     .prompt_tokens = static_cast<std::int32_t>(spec.prompt.size()),
                     .output_tokens = static_cast<std::int32_t>(spec.resumed.size()),
                     .logprobs = spec.sampling.logprobs,
                     .scores = scores_of(spec),
                     .started = system_clock().now()};
  FakeReply reply = script_(spec);
  open_[id.value].logprob = reply.logprob;
  submitted_.push_back(std::move(spec));
  run([this, id, reply = std::move(reply)] { play(id, reply); });
  return ok_status();
}

void FakeEnginePort::emit(RequestId id, std::vector<TokenId> tokens,
                          std::optional<sched::FinishReason> finish) {
  FakeReply reply{.tokens = std::move(tokens), .finish = finish};
  run([this, id, reply = std::move(reply)] { play(id, reply); });
}

void FakeEnginePort::abort(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    aborted_.push_back(id);
  }
  emit(id, {}, sched::FinishReason::kAbort);
}

TokenEvent FakeEnginePort::token_event(RequestId id, Open& open, TokenId token) const {
  TokenEvent event{.id = id, .token = token};
  event.prompt_tokens = open.prompt_tokens;
  event.output_tokens = ++open.output_tokens;
  event.first_scheduled = open.started;
  event.prompt_scores = std::move(open.scores);
  if (open.logprobs >= 0) event.logprob = open.logprob;
  for (std::int32_t i = 0; i < open.logprobs; ++i) {
    event.top_logprobs.push_back(
        {.token = token + i, .logprob = open.logprob - static_cast<float>(i)});
  }
  return event;
}

void FakeEnginePort::finish(RequestId id, const FakeReply& reply, std::vector<TokenEvent>& events) {
  Open& open = open_.at(id.value);
  TokenEvent event{.id = id};
  if (reply.end_token) event = token_event(id, open, *reply.end_token);
  if (open.scores != nullptr) event.prompt_scores = std::move(open.scores);
  if (!reply.pooled.empty()) {
    event.pooled_states = std::make_shared<const std::vector<double>>(reply.pooled);
  }
  event.finish = reply.finish;
  event.error = reply.error;
  event.forbidden = reply.forbidden;
  event.prompt_tokens = open.prompt_tokens;
  event.output_tokens = open.output_tokens;
  event.first_scheduled = open.started;
  events.push_back(std::move(event));
  open_.erase(id.value);
}

void FakeEnginePort::play(RequestId id, const FakeReply& reply) {
  std::shared_ptr<sched::EventSink> sink;
  std::vector<TokenEvent> events;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(id.value);
    if (found == open_.end()) return;
    sink = found->second.sink;
    for (const TokenId token : reply.tokens) {
      events.push_back(token_event(id, found->second, token));
    }
    if (reply.finish) finish(id, reply, events);
  }
  if (reply.one_batch) {
    sink->on_events(std::move(events));
    return;
  }
  for (TokenEvent& event : events) sink->on_events({std::move(event)});
}

}  // namespace kantha::fake
