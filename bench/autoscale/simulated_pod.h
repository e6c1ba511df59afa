#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/sim/cost_model.h"

/// One engine on virtual time: admission by KV cache and sequences, prefill in chunks beside the
/// decodes, steps that take what the cost model says. Plain data; one thread.
namespace kantha::autoscale {

/// What became of a request.
struct Outcome {
  double wait_s = 0;          ///< arrival to first token
  double per_token_s = 0;     ///< of the tokens after it
  bool was_given_up = false;  ///< its client left before the first token
};

struct PodShape {
  sim::CostModel cost;
  std::int64_t kv_tokens = 12'288;
  std::size_t sequences = 16;
  std::int64_t chunk_tokens = 64;  ///< prefill in one step
  double patience_s = 30;          ///< clients without a first token leave
};

/// The engine on two cores, by its own measurements: a decode costs as much as its share of the
/// work, so that computing ends its capacity before the KV cache does.
PodShape two_core_engine();
/// An engine whose steps cost nearly the same however many requests ride, as on an accelerator that
/// is bound by its memory's bandwidth, and whose KV cache ends first. Made-up numbers, chosen so
/// that a pod bears about as much of the same traffic as the other.
PodShape kv_bound_engine();

struct Request {
  double arrived_s = 0;
  std::int32_t prompt_left = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_left = 0;
  std::int32_t output_tokens = 0;
  double first_token_s = 0;
};

class SimulatedPod {
 public:
  SimulatedPod(PodShape shape, double ready_s) : shape_(shape), ready_s_(ready_s), at_s_(ready_s) {}

  bool is_ready(double now_s) const { return now_s >= ready_s_; }
  bool is_draining() const { return is_draining_; }
  bool is_empty() const { return waiting_.empty() && running_.empty(); }
  std::size_t requests() const { return waiting_.size() + running_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

  void take(const Request& request) { waiting_.push_back(request); }
  /// Takes no more; gives back what has not begun.
  std::deque<Request> drain();
  /// Works until then.
  void run_until(double until_s, std::vector<Outcome>& done);

  /// active/total, at most 1: the gauge of an engine's metrics.
  double occupancy() const;
  /// KV demanded over KV owned, without an upper end.
  double pressure() const;
  /// Seconds of work since it was asked last.
  double take_busy_s();

 private:
  void admit(std::vector<Outcome>& done);
  void step(std::vector<Outcome>& done);

  PodShape shape_;
  double ready_s_;
  double at_s_;
  double busy_s_ = 0;
  bool is_draining_ = false;
  std::int64_t reserved_ = 0;  ///< KV tokens that running requests may come to need
  std::int64_t active_ = 0;    ///< KV tokens in use
  std::deque<Request> waiting_;
  std::vector<Request> running_;
};

}  // namespace kantha::autoscale
