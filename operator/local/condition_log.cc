#include "operator/local/condition_log.h"

namespace kantha::local {

std::vector<ConditionView> ConditionLog::date(const std::vector<serving::Condition>& conditions,
                                              WallTime now) {
  std::vector<ConditionView> out;
  for (const serving::Condition& condition : conditions) {
    const auto found = entries_.find(condition.type);
    if (found == entries_.end() || found->second.status != condition.status) {
      entries_[condition.type] = {condition.status, rfc3339(now)};
    }
    out.push_back({condition, entries_[condition.type].since});
  }
  return out;
}

}  // namespace kantha::local
