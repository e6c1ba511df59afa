#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "engine/sched/scheduler.h"

namespace kantha::sched {

/// Keeps every event.
class EventLog final : public EventSink {
 public:
  void on_events(std::vector<TokenEvent> events) override {
    for (TokenEvent& event : events) events_.push_back(std::move(event));
  }
  const std::vector<TokenEvent>& events() const { return events_; }

 private:
  std::vector<TokenEvent> events_;
};

inline SchedulerOptions options(std::int32_t sequences_max, std::int32_t step_tokens_max) {
  return {
      .context_max = 10'000, .sequences_max = sequences_max, .step_tokens_max = step_tokens_max};
}

/// Starts what fits now, so that blocks run out later.
inline SchedulerOptions without_foresight(std::int32_t sequences_max,
                                          std::int32_t step_tokens_max) {
  SchedulerOptions options = sched::options(sequences_max, step_tokens_max);
  options.foresight = false;
  return options;
}

/// A scheduler whose device answers every sample with `answer`, 1 if not told otherwise. Blocks
/// have 4 tokens.
class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() { set_log_level(LogLevel::kError); }

  void make(std::int32_t blocks, SchedulerOptions options, bool prefix_caching = true,
            std::int32_t block_size = 4, std::vector<cache::KvGroup> groups = {cache::KvGroup{}}) {
    cache::KvCacheOptions sizes;
    sizes.block_count = blocks;
    sizes.block_size = block_size;
    sizes.groups = std::move(groups);
    sizes.prefix_caching = prefix_caching;
    kv_ = std::make_unique<cache::KvCache>(std::move(sizes));
    budget_ = options.step_tokens_max;
    scheduler_ = std::make_unique<Scheduler>(std::move(options), *kv_);
  }
  void TearDown() override {
    scheduler_->abort_all();
    EXPECT_EQ(kv_->active(), 0);
    EXPECT_EQ(scheduler_->waiting_tokens(), 0);
  }

  /// A request whose prompt is unlike every other's.
  static GenerateSpec request(std::uint64_t id, std::int32_t prompt, std::int32_t max_tokens) {
    GenerateSpec spec;
    spec.id = {id};
    for (std::int32_t i = 0; i < prompt; ++i) {
      spec.prompt.push_back(static_cast<TokenId>(id) * 10'000 + i);
    }
    spec.max_tokens = max_tokens;
    return spec;
  }
  void add(GenerateSpec spec) { scheduler_->add(std::move(spec), log_); }
  void add(std::uint64_t id, std::int32_t prompt, std::int32_t max_tokens) {
    add(request(id, prompt, max_tokens));
  }

  /// One step as "id:tokens" in batch order.
  std::string step() {
    std::string text;
    std::vector<SampledToken> sampled;
    for (const Grant& grant : scheduler_->schedule(now_, budget_).grants) {
      text += (text.empty() ? "" : " ") + std::to_string(grant.sequence->spec.id.value) + ":" +
              std::to_string(grant.tokens);
      if (grant.samples()) sampled.push_back({.token = answer_()});
    }
    scheduler_->commit(sampled);
    // The check is slow where thousands wait.
    if (scheduler_->waiting_count() < 100 || ++steps_ % 32 == 0) {
      const Status whole = scheduler_->check_integrity();
      EXPECT_TRUE(whole.ok()) << whole.error().message;
    }
    for (AddressedEvent& out : scheduler_->take_events()) {
      if (out.event.finish) finished_.push_back(out.event.id.value);
      std::vector<TokenEvent> one;
      one.push_back(std::move(out.event));
      out.sink->on_events(std::move(one));
    }
    return text;
  }
  bool finished(std::uint64_t id) const {
    return std::ranges::find(finished_, id) != finished_.end();
  }
  /// Steps until nothing is open; false when that takes more than `steps_max`.
  bool drain(int steps_max = 10'000) {
    while (!scheduler_->empty() && steps_max-- > 0) step();
    return scheduler_->empty();
  }
  const SchedulerCounters& counters() const { return scheduler_->counters(); }

  std::unique_ptr<cache::KvCache> kv_;
  std::unique_ptr<Scheduler> scheduler_;
  std::shared_ptr<EventLog> log_ = std::make_shared<EventLog>();
  std::int32_t budget_ = 0;  ///< of the next steps
  TimePoint now_{};
  std::uint64_t steps_ = 0;
  std::function<TokenId()> answer_ = [] { return TokenId{1}; };
  std::vector<std::uint64_t> finished_;  ///< in order
};

}  // namespace kantha::sched
