#include "operator/cluster/reconcile.h"

#include <memory>
#include <utility>

#include "base/rng.h"
#include "operator/cluster/apply.h"
#include "operator/cluster/finalizer.h"
#include "operator/cluster/gather.h"
#include "operator/cluster/report.h"
#include "operator/cluster/scaling.h"
#include "operator/cluster/zero_scaling.h"
#include "operator/serving/plan_cluster.h"

namespace kantha::cluster {
namespace {

/// The event that opens a gate brings its key, too; this is for events that never come.
constexpr Duration kGateAgain = std::chrono::seconds(2);
/// While the namespace's stores are not whole, absence in them means nothing.
constexpr Duration kUnreadAgain = std::chrono::seconds(1);

/// For deadlines of a rollout, which come without any event.
constexpr Duration kRolloutAgain = std::chrono::seconds(15);

}  // namespace

ObjectMemory& Reconciler::memory_of(const kube::ObjectKey& key, const std::string& uid) {
  ObjectMemory& memory = memory_[key];
  if (memory.uid != uid) {
    memory = {};
    memory.uid = uid;
  }
  return memory;
}

Duration Reconciler::resync_of(const kube::ObjectKey& key) const {
  // Within a tenth more, so that ten thousand objects do not come back in one second.
  const double part = random_unit(seed_, std::hash<kube::ObjectKey>{}(key));
  return tools_.settings.resync +
         std::chrono::duration_cast<Duration>(tools_.settings.resync * (part / 10));
}

net::Task<Result<runtime::Requeue>> Reconciler::reconcile(kube::ObjectKey key) {
  Scope* scope = tools_.stores.scope_of(key.name_space);
  if (scope == nullptr) co_return runtime::Requeue{};
  if (!scope->is_ready()) co_return runtime::Requeue{kUnreadAgain};
  scope->at_gate.erase(key);
  const auto object = scope->servings.find(key);
  if (object == nullptr) {
    memory_.erase(key);
    scope->told.erase(key);
    tools_.fleet.forget(key);
    tools_.rollouts.forget(key);
    co_return runtime::Requeue{};
  }
  if (!scope->gate.is_open(key, tools_.clock.now())) {
    scope->at_gate.insert(key);
    co_return runtime::Requeue{kGateAgain};
  }
  Pass pass{tools_, *scope, key, object, memory_of(key, object->meta.uid)};
  co_return co_await run_pass(pass);
}

net::Task<Result<runtime::Requeue>> Reconciler::run_pass(Pass& pass) {
  serving::ClusterObservation seen = co_await gather(pass);
  serving::Verdict verdict;
  if (serving::is_judged(seen.rollout.state)) {
    verdict = serving::judge(pass.memory.evidence.evidence(), pass.object->serving.spec.rollout);
  }
  serving::ClusterPlan plan = serving::plan_cluster(
      *pass.object, seen, {tools_.clock.now(), tools_.clock.wall_now()}, verdict);
  if (plan.plan.rollout) seen.rollout.image = plan.plan.rollout->image;
  pass.tools.rollouts.see(pass.key, seen.rollout.state);
  if (plan.write_first) pass.tools.rollouts.breach(pass.key, tools_.clock.now());
  if (plan.plan.rollout && serving::is_under_way(*plan.plan.rollout) &&
      !pass.object->serving.spec.rollout.paused) {
    pass.outcome.look_again(kRolloutAgain);
  }
  if (!pass.object->is_deleting() && seen.hold_reason.empty()) {
    co_await scale(pass, seen, plan.plan);
    co_await scale_zero(pass, seen, plan.plan);
  }
  bool is_over = false;
  if (pass.object->is_deleting()) {
    is_over = co_await finalize(pass, seen, plan);
  } else if (plan.write_first) {
    pass.outcome.look_again(std::chrono::milliseconds(100));
  } else {
    co_await apply(pass, seen, plan);
  }
  if (!is_over && pass.outcome.is_worth_telling()) co_await report(pass, seen, plan);
  if (pass.outcome.error) co_return *pass.outcome.error;
  if (is_over) co_return runtime::Requeue{};
  co_return runtime::Requeue{pass.outcome.again.value_or(resync_of(pass.key))};
}

}  // namespace kantha::cluster
