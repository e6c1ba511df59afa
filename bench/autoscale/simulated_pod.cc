#include "bench/autoscale/simulated_pod.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kantha::autoscale {

PodShape two_core_engine() { return {}; }

PodShape kv_bound_engine() {
  PodShape out;
  out.cost = {.fixed_ms = 20, .row_ms = 0.02, .output_row_ms = 0.02, .context_us = 0.01};
  out.kv_tokens = 6'144;
  out.sequences = 64;
  return out;
}

std::deque<Request> SimulatedPod::drain() {
  is_draining_ = true;
  return std::exchange(waiting_, {});
}

void SimulatedPod::admit(std::vector<Outcome>& done) {
  while (!waiting_.empty()) {
    const Request& next = waiting_.front();
    if (at_s_ - next.arrived_s > shape_.patience_s) {
      done.push_back({at_s_ - next.arrived_s, 0, true});
      waiting_.pop_front();
      continue;
    }
    const std::int64_t need = next.prompt_tokens + next.output_tokens;
    if (running_.size() >= shape_.sequences || reserved_ + need > shape_.kv_tokens) return;
    reserved_ += need;
    running_.push_back(next);
    waiting_.pop_front();
  }
}

void SimulatedPod::step(std::vector<Outcome>& done) {
  sim::StepWork work;
  std::int64_t chunk = shape_.chunk_tokens;
  for (Request& request : running_) {
    const std::int64_t context =
        request.prompt_tokens - request.prompt_left + request.output_tokens - request.output_left;
    if (request.prompt_left > 0) {
      const auto rows =
          static_cast<std::int32_t>(std::min<std::int64_t>(request.prompt_left, chunk));
      chunk -= rows;
      request.prompt_left -= rows;
      active_ += rows;
      work.rows += rows;
      work.context_tokens += rows * (context + rows / 2);
      if (request.prompt_left > 0 || rows == 0) continue;
    } else {
      work.rows += 1;
      work.context_tokens += context;
      active_ += 1;
    }
    work.output_rows += 1;
    --request.output_left;
  }
  const double took = std::chrono::duration<double>(shape_.cost.step(work)).count();
  at_s_ += took;
  busy_s_ += took;
  std::erase_if(running_, [&](Request& request) {
    const std::int32_t made = request.output_tokens - request.output_left;
    if (made >= 1 && request.first_token_s == 0) request.first_token_s = at_s_;
    if (request.output_left > 0) return false;
    const double rest = at_s_ - request.first_token_s;
    done.push_back({request.first_token_s - request.arrived_s, made > 1 ? rest / (made - 1) : 0});
    reserved_ -= request.prompt_tokens + request.output_tokens;
    active_ -= request.prompt_tokens + made - 1;
    return true;
  });
}

void SimulatedPod::run_until(double until_s, std::vector<Outcome>& done) {
  while (at_s_ < until_s) {
    admit(done);
    if (running_.empty()) {
      at_s_ = until_s;
      return;
    }
    step(done);
  }
}

double SimulatedPod::occupancy() const {
  return std::min(1.0, static_cast<double>(active_) / static_cast<double>(shape_.kv_tokens));
}

double SimulatedPod::pressure() const {
  const std::int64_t waiting = std::accumulate(
      waiting_.begin(), waiting_.end(), std::int64_t{0},
      [](std::int64_t sum, const Request& request) { return sum + request.prompt_tokens; });
  return static_cast<double>(active_ + waiting) / static_cast<double>(shape_.kv_tokens);
}

double SimulatedPod::take_busy_s() { return std::exchange(busy_s_, 0); }

}  // namespace kantha::autoscale
