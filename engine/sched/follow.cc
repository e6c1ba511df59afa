#include <algorithm>

#include "engine/sched/scheduler.h"

/// Requests that wait for the head of their prompt, which another one is computing: parallel
/// samples for their parent, and equal prompts for the first of them. They stand beside the line
/// and hold up nobody.
namespace kantha::sched {
namespace {

/// A leader that got no tokens for so many steps is not worth waiting for.
constexpr std::uint64_t kStallSteps = 32;

}  // namespace

void Scheduler::follow(Sequence& sequence, Sequence& leader, std::int32_t tokens) {
  sequence.leader = &leader;
  sequence.leader_tokens = tokens;
  leader.followers.push_back(&sequence);
}

void Scheduler::unfollow(Sequence& sequence) {
  if (sequence.leader == nullptr) return;
  std::erase(sequence.leader->followers, &sequence);
  sequence.leader = nullptr;
  sequence.forks = false;
}

void Scheduler::hold(Sequence& sequence) {
  sequence.state = SequenceState::kHeld;
  ++held_count_;
}

void Scheduler::line_up(Sequence& sequence) {
  if (sequence.state == SequenceState::kHeld) --held_count_;
  sequence.state = SequenceState::kWaiting;
  line_.insert(*sequence.flow, sequence.order, sequence);
}

/// Takes a waiting sequence out of where it waits.
void Scheduler::leave_line(Sequence& sequence) {
  if (sequence.state == SequenceState::kHeld) {
    --held_count_;
  } else {
    line_.erase(*sequence.flow, sequence.order);
  }
}

void Scheduler::set_demand(Sequence& sequence, std::int32_t tokens) {
  waiting_tokens_ += tokens - sequence.demand;
  sequence.demand = tokens;
}

/// Lets those go on who have waited for what `leader` has computed by now.
void Scheduler::lead(Sequence& leader) {
  for (std::size_t i = 0; i < leader.followers.size();) {
    Sequence& follower = *leader.followers[i];
    const bool ready =
        follower.state == SequenceState::kHeld && leader.computed >= follower.leader_tokens;
    if (ready) line_up(follower);
    if (ready && !follower.forks) {
      unfollow(follower);
    } else {
      ++i;
    }
  }
}

/// `leader` will compute nothing for others any more: they look after themselves.
void Scheduler::dismiss(Sequence& leader) {
  heads_.erase(leader);
  while (!leader.followers.empty()) dismiss_one(*leader.followers.back());
}

void Scheduler::dismiss_one(Sequence& follower) {
  unfollow(follower);
  set_demand(follower, follower.wanted());
  if (follower.state == SequenceState::kHeld) line_up(follower);
}

void Scheduler::dismiss_stalled() {
  if (held_count_ == 0) return;
  for (Sequence* leader : running_) {
    if (leader->followers.empty() || step_ - leader->last_step <= kStallSteps) continue;
    for (std::size_t i = leader->followers.size(); i-- > 0;) {
      Sequence& follower = *leader->followers[i];
      if (follower.forks) continue;
      follower.waits_left = 0;
      dismiss_one(follower);
    }
  }
}

/// Makes a request that is about to start wait instead, when its head is being computed.
bool Scheduler::wait_for_head(Sequence& sequence, std::int32_t known) {
  if (!kv_.options().prefix_caching || sequence.resumes() || sequence.waits_left == 0) return false;
  const std::optional<SharedHead> head = heads_.find(sequence, known);
  if (!head) return false;
  --sequence.waits_left;
  leave_line(sequence);
  hold(sequence);
  follow(sequence, *head->leader, head->tokens);
  ++counters_.shared_waits;
  return true;
}

}  // namespace kantha::sched
