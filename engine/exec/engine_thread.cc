#include "engine/exec/engine_thread.h"

#include <thread>
#include <utility>

#include "base/thread_priority.h"
#include "engine/exec/engine_loop.h"
#include "engine/gateway/inbox.h"

namespace kantha::exec {
namespace {

/// Longest sleep of an idle engine; work and stop wake it earlier.
constexpr Duration kIdleWait = std::chrono::seconds(1);

EngineOptions checked(EngineOptions options, const Forward& forward) {
  CHECK(options.kv.block_count >= 1 && options.kv.block_size >= 1, "a pool has blocks");
  options.kv_groups.assign(forward.groups().begin(), forward.groups().end());
  return options;
}

}  // namespace

struct EngineThread::Body {
  Body(std::unique_ptr<Forward> forward, const EngineOptions& options, const Clock& clock)
      : clock(clock),
        inbox(limits_of(options, forward->vocabulary_size(), forward->hidden_size())),
        loop(std::move(forward), options, clock, inbox) {}

  const Clock& clock;
  gateway::Inbox inbox;
  EngineLoop loop;
  std::thread thread;
  bool stopped = false;
};

EngineThread::EngineThread(std::unique_ptr<Forward> forward, EngineOptions options,
                           const Clock& clock) {
  options = checked(std::move(options), *forward);
  body_ = std::make_unique<Body>(std::move(forward), options, clock);
}

EngineThread::~EngineThread() { stop(); }

void EngineThread::warm_up() {
  CHECK(!body_->thread.joinable() && !body_->stopped, "before start");
  body_->loop.warm_up();
}

void EngineThread::start() {
  CHECK(!body_->thread.joinable() && !body_->stopped, "started once");
  body_->thread = std::thread([body = body_.get()] {
    ask_for_short_turns();
    while (body->loop.turn(kIdleWait)) {
    }
  });
}

void EngineThread::stop() {
  if (std::exchange(body_->stopped, true)) return;
  body_->inbox.close();
  if (body_->thread.joinable()) {
    body_->thread.join();
  } else {
    body_->loop.turn(Duration::zero());  // never started: end what was queued
  }
}

gateway::EngineLimits EngineThread::limits() const { return body_->inbox.limits(); }

Status EngineThread::precheck(gateway::QueueDemand demand) const {
  return body_->inbox.precheck(demand);
}

Status EngineThread::submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) {
  return body_->inbox.submit(std::move(spec), std::move(sink), body_->clock.now());
}

void EngineThread::abort(RequestId id) { body_->inbox.abort(id); }

gateway::EngineStats EngineThread::stats() const { return body_->inbox.stats(); }

}  // namespace kantha::exec
