#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/local/pod_facts.h"
#include "operator/serving/plan.h"
#include "operator/serving/plan_zero.h"
#include "operator/serving/scale_law.h"

/// The autoscaler of the local world: what an HPA is to a cluster, with the same law
/// (operator/serving/scale_law.h). Plain data over `now`; one thread.
namespace kantha::local {

/// One pod as the law counts it; nullopt for one that is on its way out. Only a pod that serves as
/// it was told has a sample: one that loads, restarts or does not answer has none.
std::optional<serving::ScalePod> scale_pod(const PodFacts& facts, TimePoint now);

/// The same pod for scaling to zero; nullopt for one that is on its way out.
std::optional<serving::ZeroPod> zero_pod(const PodFacts& facts, TimePoint now);

class Autoscaler {
 public:
  explicit Autoscaler(Duration every) : every_(every) {}

  /// Looks when it is time to; gives the count wanted where that is another one. Without
  /// spec.autoscaling nothing is wanted, and what was remembered is forgotten.
  std::optional<std::int64_t> look(const serving::ModelServing& serving,
                                   const std::vector<serving::ScalePod>& pods,
                                   const std::string& holds_down, const Clock& clock);

  /// With minReplicas 0: to zero when nobody asks, and from zero when somebody does. Gives the
  /// count wanted where that is another one. The door of this world is the listening socket: what
  /// comes while there is no pod waits in the kernel. `knocks`: something does.
  std::optional<std::int64_t> look_at_zero(const serving::ModelServing& serving,
                                           std::vector<serving::ZeroPod> pods,
                                           std::int64_t available, bool knocks,
                                           const std::string& holds, const Clock& clock);

  /// ScalingActive, once it has looked.
  std::optional<serving::Condition> condition() const {
    return zero_ ? serving::with_zero(*zero_, condition_) : condition_;
  }
  /// The figures of the last look, as lines for people.
  std::vector<std::string> arithmetic() const;
  /// The last changes of the count and why, oldest first.
  const std::vector<serving::Decision>& decisions() const { return decisions_; }

 private:
  Duration every_;
  std::optional<TimePoint> looked_at_;
  serving::ScaleLaw law_;
  std::optional<serving::Condition> condition_;
  std::vector<std::string> arithmetic_;
  std::optional<serving::ZeroStep> zero_;
  std::vector<serving::Decision> decisions_;
};

}  // namespace kantha::local
