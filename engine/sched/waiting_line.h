#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/sched/generate_spec.h"

/// Who is next: fair shares of tokens between tenants and classes.
namespace kantha::sched {

struct Sequence;

/// Priorities are strict bands, lower first. Inside a band every (tenant, class) is a flow, and
/// flows share tokens by weight: interactive 8, agent 4, batch 1. A flow pays for the prompt tokens
/// that its requests make the engine compute and for the tokens that they generate; the waiting
/// flow that has had least is next. Inside a flow, order of arrival.
///
/// This is deficit round robin without its quantum: counters of served tokens instead of deficits
/// (the virtual token counter of Sheng et al., "Fairness in Serving Large Language Models", 2024).
/// - Of two flows that always wait, neither is ahead by more than its last request.
/// - A flow that comes back starts level with the least served one that waits: being idle saves
///   nothing up, and what was served while nobody else waited is not held against anybody.
/// - Its first request is next after the one that is being started, whatever others have queued.
///
/// O(log flows) per change; nothing is allocated for charges. One thread.
class WaitingLine {
 public:
  class Flow;

  /// The flow of one more open request, waiting or running. Every join is followed by one leave.
  Flow& join(std::int32_t priority, const std::string& tenant, SloClass slo);
  void leave(Flow& flow);

  /// Puts a request in line; `order` is unique and rises with arrival, so that one that comes back
  /// stands before its flow's later ones.
  void insert(Flow& flow, std::uint64_t order, Sequence& sequence);
  /// Takes it out. CHECKs that it is there.
  void erase(Flow& flow, std::uint64_t order);
  /// `tokens` were computed for a request of this flow.
  void charge(Flow& flow, std::int64_t tokens);

  /// The next requests, best first: at most `max`, of one flow at most kFlowDepth. Holds until the
  /// next call or change.
  std::span<Sequence* const> front(std::size_t max);
  static constexpr std::size_t kFlowDepth = 4;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Flows that are known; bounded by open requests and a constant.
  std::size_t flow_count() const { return flow_count_; }

  /// Order and counts. kInternal says what is broken.
  Status check_integrity() const;

 private:
  struct Band;
  /// Least served first; of equals the one whose last service is longest ago.
  struct LessServed {
    bool operator()(const Flow* a, const Flow* b) const;
  };
  using Backlog = std::set<Flow*, LessServed>;

  static std::int64_t level(Band& band);
  void settle();
  void forget_idle();

  std::map<std::int32_t, std::unique_ptr<Band>> bands_;
  std::map<std::int32_t, Band*> backlog_;  ///< those in which somebody waits
  std::vector<Flow*> charged_;             ///< with charges that are not in their place in line yet
  std::vector<Sequence*> front_;
  std::uint64_t next_turn_ = 1;
  std::uint64_t next_serial_ = 0;
  std::size_t size_ = 0;
  std::size_t flow_count_ = 0;
  std::size_t idle_count_ = 0;  ///< flows without an open request
};

/// One (priority, tenant, class).
class WaitingLine::Flow {
 private:
  friend class WaitingLine;
  Band* band = nullptr;
  std::int64_t cost = 1;       ///< of a token; the inverse of the weight
  std::uint64_t serial = 0;    ///< of the first join
  std::int64_t served = 0;     ///< tokens times cost, as its place in line has it
  std::int64_t unsettled = 0;  ///< charged since; changes the place at the next look
  std::uint64_t turn = 0;      ///< of the last charge that was settled
  std::int32_t open = 0;       ///< requests
  std::map<std::uint64_t, Sequence*> waiting;
};

struct WaitingLine::Band {
  std::int32_t priority = 0;
  std::map<std::pair<std::string, SloClass>, std::unique_ptr<Flow>> flows;
  Backlog backlog;         ///< flows with waiting requests
  Flow* last = nullptr;    ///< the last that stopped waiting, while it is known
  std::int64_t level = 0;  ///< and otherwise what it had been served
};

}  // namespace kantha::sched
