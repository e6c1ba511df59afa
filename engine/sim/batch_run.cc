#include "engine/sim/batch_run.h"

#include <algorithm>
#include <utility>

namespace kantha::sim {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

BatchRun::BatchRun(const Workload& workload, const Policy& policy, const RunOptions& options)
    : workload_(workload), policy_(policy), options_(options), door_(options), line_(workload) {
  trace_.requests.resize(workload.arrivals.size());
}

Trace BatchRun::run() {
  while (true) {
    accept();
    drop_expired();
    if (batch_is_due()) {
      run_batch();
    } else if (const auto next = next_change()) {
      now_ = std::max(now_, *next);
    } else {
      break;
    }
  }
  trace_.finished = now_;
  return std::move(trace_);
}

void BatchRun::accept() {
  while (const auto due = line_.take(now_)) {
    record(due->index).queued = due->at;
    const auto requests = static_cast<std::int64_t>(waiting_.size());
    const Outcome outcome = door_.check(arrival(due->index), requests, waiting_tokens_);
    if (outcome == Outcome::kDone) {
      waiting_.push_back(due->index);
      waiting_tokens_ += arrival(due->index).prompt_tokens;
    } else {
      record(due->index).outcome = outcome;
      record(due->index).end = due->at;  // the door answers at once
      line_.ended(due->index, due->at);
    }
  }
}

void BatchRun::drop_expired() {
  std::erase_if(waiting_, [&](std::int32_t index) {
    const Duration timeout = arrival(index).timeout;
    if (timeout == Duration::zero() || record(index).queued + timeout > now_) return false;
    record(index).outcome = Outcome::kDeadline;
    record(index).end = now_;
    waiting_tokens_ -= arrival(index).prompt_tokens;
    line_.ended(index, now_);
    return true;
  });
}

bool BatchRun::batch_is_due() const {
  if (waiting_.empty()) return false;
  if (waiting_.size() >= static_cast<std::size_t>(options_.sequences_max)) return true;
  if (!line_.next()) return true;  // nobody else will come
  const TimePoint queued = trace_.requests[static_cast<std::size_t>(waiting_.front())].queued;
  return policy_.kind == PolicyKind::kDynamic && queued + policy_.max_wait <= now_;
}

std::optional<TimePoint> BatchRun::next_change() const {
  std::optional<TimePoint> next;
  if (const auto due = line_.next()) next = due->at;
  if (policy_.kind == PolicyKind::kDynamic && !waiting_.empty()) {
    const TimePoint queued = trace_.requests[static_cast<std::size_t>(waiting_.front())].queued;
    next = std::min(next.value_or(TimePoint::max()), queued + policy_.max_wait);
  }
  return next;
}

BatchRun::Shape BatchRun::shape_of(const std::vector<std::int32_t>& members) const {
  Shape shape{.members = static_cast<std::int64_t>(members.size())};
  for (const std::int32_t index : members) {
    shape.prompt = std::max<std::int64_t>(shape.prompt, arrival(index).prompt_tokens);
    shape.output = std::max<std::int64_t>(shape.output, arrival(index).output_tokens);
  }
  return shape;
}

void BatchRun::run_batch() {
  std::vector<std::int32_t> members;
  while (!waiting_.empty() && std::ssize(members) < options_.sequences_max) {
    members.push_back(waiting_.front());
    waiting_.pop_front();
    waiting_tokens_ -= arrival(members.back()).prompt_tokens;
    record(members.back()).started = now_;
  }
  const Shape shape = shape_of(members);
  for (std::int64_t number = 0; number < shape.output; ++number) step(shape, members, number);
  for (const std::int32_t index : members) {
    record(index).end = now_;  // the batch answers as one
    line_.ended(index, now_);
  }
}

/// Step 0 computes the prompts and gives the first tokens; every other one gives one token each.
void BatchRun::step(const Shape& shape, const std::vector<std::int32_t>& members,
                    std::int64_t number) {
  const std::int64_t rows = number == 0 ? shape.prompt : 1;
  const std::int64_t before = number == 0 ? 0 : shape.prompt + number - 1;
  const StepWork work{.rows = shape.members * rows,
                      .output_rows = shape.members,
                      .context_tokens = shape.members * (rows * before + rows * (rows + 1) / 2)};
  const Duration cost = options_.cost.step(work);
  if (options_.keep_steps) {
    trace_.steps.push_back({.begin = now_,
                            .cost = cost,
                            .rows = static_cast<std::int32_t>(work.rows),
                            .output_rows = static_cast<std::int32_t>(work.output_rows),
                            .running = static_cast<std::int32_t>(shape.members),
                            .waiting = static_cast<std::int32_t>(waiting_.size())});
  }
  now_ += cost;
  trace_.busy += cost;
  trace_.rows += work.rows;
  ++trace_.step_count;
  for (const std::int32_t index : members) {
    const bool live = number < arrival(index).output_tokens;
    const std::int64_t useful = number == 0 ? arrival(index).prompt_tokens : (live ? 1 : 0);
    trace_.padding_rows += rows - useful;
    if (live) note_token(index);
  }
  note_waste(shape, members, number, cost);
}

void BatchRun::note_waste(const Shape& shape, const std::vector<std::int32_t>& members,
                          std::int64_t number, Duration cost) {
  std::int64_t used = 0;
  for (const std::int32_t index : members) {
    used +=
        arrival(index).prompt_tokens + std::min<std::int64_t>(number, arrival(index).output_tokens);
  }
  const std::int64_t reserved = shape.members * (shape.prompt + shape.output);
  trace_.waste.add(1 - static_cast<double>(used) / static_cast<double>(reserved), seconds(cost));
}

void BatchRun::note_token(std::int32_t index) {
  RequestRecord& r = record(index);
  if (r.output_tokens++ == 0) {
    r.first_token = now_;
  } else {
    trace_.itl.add(seconds(now_ - r.last_token));
  }
  r.last_token = now_;
  if (options_.on_token) options_.on_token(index, now_);
}

}  // namespace kantha::sim
