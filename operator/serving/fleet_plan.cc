#include "operator/serving/fleet_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kantha::serving {
namespace {

std::int64_t unix_ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// The ready pods that were made as that one, itself too; nobody when it is alone.
std::vector<noded::FleetPeer> peers_of(const FleetMember& member,
                                       const std::vector<FleetMember>& members) {
  std::vector<noded::FleetPeer> out;
  for (const FleetMember& other : members) {
    const bool is_peer = other.ready && other.made_as == member.made_as;
    if (is_peer && out.size() < noded::kFleetPeersMax) out.push_back(other.peer);
  }
  if (member.ready && out.size() < 2) out.clear();
  return out;
}

}  // namespace

bool FleetPlan::observe(const std::string& serving, const std::vector<FleetMember>& members) {
  const auto found = servings_.find(serving);
  if (found == servings_.end() && members.size() < 2) return false;
  if (members.empty()) {
    servings_.erase(found);
    pending_.erase(serving);
    return false;
  }
  Receivers& before = servings_[serving];
  Receivers next;
  bool changed = false;
  for (const FleetMember& member : members) {
    const auto known = before.find(member.id);
    const bool is_known = known != before.end() && known->second.incarnation == member.incarnation;
    Receiver receiver = is_known ? std::move(known->second) : Receiver();
    receiver.incarnation = member.incarnation;
    receiver.wanted = peers_of(member, members);
    changed = changed || receiver.wanted != receiver.told;
    next.emplace(member.id, std::move(receiver));
  }
  before = std::move(next);
  if (changed) pending_.insert(serving);
  return changed;
}

void FleetPlan::look_for_stale(TimePoint now) {
  if (now < look_for_stale_at_) return;
  look_for_stale_at_ = now + policy_.refresh / 30;
  for (auto& [serving, receivers] : servings_) {
    for (auto& [id, receiver] : receivers) {
      if (receiver.wanted.empty() || now - receiver.told_at < policy_.refresh) continue;
      receiver.stale = true;
      pending_.insert(serving);
    }
  }
}

std::vector<FleetPlan::Message> FleetPlan::take_due(TimePoint now, WallTime wall_now,
                                                    std::size_t count_max) {
  look_for_stale(now);
  std::vector<Message> out;
  for (auto serving = pending_.begin(); serving != pending_.end();) {
    bool is_pending = false;
    for (auto& [id, receiver] : servings_.at(*serving)) {
      if (!receiver.is_pending()) continue;
      is_pending = true;
      if (out.size() == count_max) return out;
      if (receiver.under_way || now < receiver.not_before) continue;
      receiver.under_way = true;
      receiver.observed_at_ms = std::max(receiver.observed_at_ms + 1, unix_ms(wall_now));
      out.push_back({*serving, id, {receiver.observed_at_ms, receiver.wanted}});
    }
    serving = is_pending ? std::next(serving) : pending_.erase(serving);
  }
  return out;
}

void FleetPlan::answered(const Message& message, bool ok, TimePoint now) {
  const auto serving = servings_.find(message.serving);
  if (serving == servings_.end()) return;
  const auto found = serving->second.find(message.id);
  if (found == serving->second.end()) return;
  Receiver& receiver = found->second;
  receiver.under_way = false;
  receiver.not_before = now + (ok ? policy_.pause : policy_.again_after_failure);
  if (!ok) return;
  receiver.told = message.view.peers;
  receiver.told_at = now;
  receiver.stale = false;
}

std::optional<Duration> FleetPlan::look_after() const {
  if (!pending_.empty()) return policy_.pause;
  if (servings_.empty()) return std::nullopt;
  return policy_.refresh / 30;
}

std::size_t FleetPlan::receiver_count() const {
  std::size_t count = 0;
  for (const auto& [serving, receivers] : servings_) count += receivers.size();
  return count;
}

}  // namespace kantha::serving
