#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/serving/judge.h"
#include "operator/serving/rollout_state.h"

/// What ring and control pods answered since a bake began. Kept in memory only: whoever begins anew
/// counts anew, so that a bake may take longer and never passes on less. One thread.
namespace kantha::serving {

/// How full an engine's KV storage was at one moment.
struct KvLook {
  TimePoint at{};            ///< of the answer; the same one counts once
  double share = 0;          ///< blocks in use over all of them
  std::int64_t streams = 0;  ///< requests at that moment
};

/// One pod's counters now.
struct PodEvidence {
  std::string pod;
  std::string incarnation;  ///< of its noded: another one counts from 0
  bool is_on_target = false;
  noded::ServiceSample sample;
  std::int64_t restarts = 0;  ///< of its engine
  KvLook kv = {};
};

class RolloutEvidence {
 public:
  /// Takes the counters of one pass, of the pods that are available in it: what one did before it
  /// fell over still counts. Another ring or rollout, or none that is judged, forgets all.
  void observe(const RolloutState& state, const std::vector<PodEvidence>& pods);
  Evidence evidence() const;

 private:
  struct Entry {
    std::string incarnation;
    bool is_on_target = false;
    noded::ServiceSample first;
    noded::ServiceSample last;
    std::int64_t restarts_first = 0;
    std::int64_t restarts_last = 0;
    bool is_there = true;  ///< in the last pass
    std::deque<KvLook> kv = {};
  };
  static void note_kv(Entry& entry, const KvLook& look);
  std::string bake_;
  std::map<std::string, Entry> entries_;
};

}  // namespace kantha::serving
