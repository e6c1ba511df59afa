#include "operator/metricsapi/metric_table.h"

#include <utility>

namespace kantha::metricsapi {

std::optional<Metric> metric_of(std::string_view name) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    if (kMetricNames[i] == name) return static_cast<Metric>(i);
  }
  return std::nullopt;
}

void MetricTable::put(const std::string& name_space, const std::string& key, PodEntry entry) {
  spaces_[name_space].insert_or_assign(key, std::move(entry));
}

void MetricTable::remove(const std::string& name_space, const std::string& key) {
  const auto space = spaces_.find(name_space);
  if (space == spaces_.end()) return;
  space->second.erase(key);
  if (space->second.empty()) spaces_.erase(space);
}

void MetricTable::keep_only(const std::map<std::string, std::string>& namespace_by_key) {
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    std::erase_if(space->second, [&](const auto& pod) {
      const auto known = namespace_by_key.find(pod.first);
      return known == namespace_by_key.end() || known->second != space->first;
    });
    space = space->second.empty() ? spaces_.erase(space) : std::next(space);
  }
}

const Sample* MetricTable::fresh(const PodEntry& entry, TimePoint now) {
  const bool is_fresh = entry.sample && now - entry.sample->taken <= kSampleKeptFor;
  return is_fresh ? &*entry.sample : nullptr;
}

std::vector<const PodEntry*> MetricTable::pods(const std::string& name_space) const {
  std::vector<const PodEntry*> out;
  const auto space = spaces_.find(name_space);
  if (space == spaces_.end()) return out;
  out.reserve(space->second.size());
  for (const auto& [key, entry] : space->second) out.push_back(&entry);
  return out;
}

const PodEntry* MetricTable::find(const std::string& name_space, const std::string& key) const {
  const auto space = spaces_.find(name_space);
  if (space == spaces_.end()) return nullptr;
  const auto found = space->second.find(key);
  return found == space->second.end() ? nullptr : &found->second;
}

std::size_t MetricTable::size() const {
  std::size_t count = 0;
  for (const auto& [name_space, pods] : spaces_) count += pods.size();
  return count;
}

}  // namespace kantha::metricsapi
