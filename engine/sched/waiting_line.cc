#include "engine/sched/waiting_line.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace kantha::sched {
namespace {

/// Flows without an open request that are remembered: of those that have had more than their share.
constexpr std::size_t kIdleFlowsMax = 1024;

/// Token costs are inverse weights, as whole numbers: 8, 4 and 1 shares.
std::int64_t cost_of(SloClass slo) {
  switch (slo) {
    case SloClass::kInteractive: return 1;
    case SloClass::kAgent: return 2;
    case SloClass::kBatch: return 8;
  }
  return 1;
}

}  // namespace

bool WaitingLine::LessServed::operator()(const Flow* a, const Flow* b) const {
  return std::tie(a->served, a->turn, a->serial) < std::tie(b->served, b->turn, b->serial);
}

WaitingLine::Flow& WaitingLine::join(std::int32_t priority, const std::string& tenant,
                                     SloClass slo) {
  std::unique_ptr<Band>& band = bands_[priority];
  if (band == nullptr) {
    band = std::make_unique<Band>();
    band->priority = priority;
  }
  std::unique_ptr<Flow>& flow = band->flows[{tenant, slo}];
  if (flow == nullptr) {
    flow = std::make_unique<Flow>();
    flow->band = band.get();
    flow->cost = cost_of(slo);
    flow->serial = next_serial_++;
    ++flow_count_;
  } else if (flow->open == 0) {
    --idle_count_;
  }
  ++flow->open;
  return *flow;
}

void WaitingLine::leave(Flow& flow) {
  CHECK(flow.open > 0 && flow.waiting.size() < static_cast<std::size_t>(flow.open),
        "a request leaves once, and not while it waits");
  if (--flow.open > 0) return;
  if (++idle_count_ > kIdleFlowsMax) forget_idle();
}

/// What a flow that begins to wait starts from.
std::int64_t WaitingLine::level(Band& band) {
  if (!band.backlog.empty()) return (*band.backlog.begin())->served;
  return band.last == nullptr ? band.level : band.last->served + band.last->unsettled;
}

void WaitingLine::insert(Flow& flow, std::uint64_t order, Sequence& sequence) {
  settle();
  if (flow.waiting.empty()) {
    flow.served = std::max(flow.served, level(*flow.band));
    flow.band->backlog.insert(&flow);
    backlog_.emplace(flow.band->priority, flow.band);
  }
  CHECK(flow.waiting.emplace(order, &sequence).second, "a request waits once");
  ++size_;
}

void WaitingLine::erase(Flow& flow, std::uint64_t order) {
  CHECK(flow.waiting.erase(order) == 1, "the request waits");
  --size_;
  if (!flow.waiting.empty()) return;
  flow.band->backlog.erase(&flow);
  flow.band->last = &flow;
  if (flow.band->backlog.empty()) backlog_.erase(flow.band->priority);
}

void WaitingLine::charge(Flow& flow, std::int64_t tokens) {
  if (tokens == 0) return;
  if (flow.unsettled == 0) charged_.push_back(&flow);
  flow.unsettled += tokens * flow.cost;
}

void WaitingLine::settle() {
  for (Flow* flow : charged_) {
    // The place in the set must not change under it.
    auto node = flow->waiting.empty() ? Backlog::node_type() : flow->band->backlog.extract(flow);
    flow->served += std::exchange(flow->unsettled, 0);
    flow->turn = next_turn_++;
    if (!node.empty()) flow->band->backlog.insert(std::move(node));
  }
  charged_.clear();
}

std::span<Sequence* const> WaitingLine::front(std::size_t max) {
  settle();
  front_.clear();
  for (const auto& [priority, band] : backlog_) {
    for (const Flow* flow : band->backlog) {
      std::size_t depth = 0;
      for (const auto& [order, sequence] : flow->waiting) {
        if (front_.size() == max) return front_;
        if (depth++ == kFlowDepth) break;
        front_.push_back(sequence);
      }
    }
  }
  return front_;
}

/// They come back level with the others: what they had beyond their share is forgiven.
void WaitingLine::forget_idle() {
  settle();
  for (auto band = bands_.begin(); band != bands_.end();) {
    band->second->level = level(*band->second);
    band->second->last = nullptr;
    flow_count_ -= std::erase_if(band->second->flows,
                                 [](const auto& entry) { return entry.second->open == 0; });
    band = band->second->flows.empty() ? bands_.erase(band) : std::next(band);
  }
  idle_count_ = 0;
}

Status WaitingLine::check_integrity() const {
  std::size_t waiting = 0;
  std::size_t flows = 0;
  std::size_t idle = 0;
  for (const auto& [priority, band] : bands_) {
    if (!std::ranges::is_sorted(band->backlog, LessServed())) {
      return internal_error("waiting line: flows are out of order");
    }
    std::size_t backlog = 0;
    for (const auto& [key, flow] : band->flows) {
      ++flows;
      idle += flow->open == 0 ? 1 : 0;
      waiting += flow->waiting.size();
      backlog += flow->waiting.empty() ? 0 : 1;
      if (flow->waiting.empty() == band->backlog.contains(flow.get())) {
        return internal_error("waiting line: a flow of \"" + key.first +
                              "\" is in the wrong place");
      }
    }
    if (backlog != band->backlog.size() || backlog_.contains(priority) != (backlog > 0)) {
      return internal_error("waiting line: unknown flows wait");
    }
  }
  if (waiting != size_ || flows != flow_count_ || idle != idle_count_) {
    return internal_error("waiting line: miscounted");
  }
  return ok_status();
}

}  // namespace kantha::sched
