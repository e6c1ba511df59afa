#include "operator/kube/event_ledger.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace kantha::kube {
namespace {

constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kSuffixBytes = 17;

/// RFC 3339 in seconds, as metav1.Time has it.
std::string time_text(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text = {};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// Cut at a bound, but not inside a character of UTF-8.
std::string cut(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

/// Removes what has not been used for the longest time where the bound does not hold: a quarter of
/// it at once, because finding the oldest of thousands for each event would be most of its cost.
template <class Map, class TimeOf>
void shrink(Map& map, std::size_t count_max, TimeOf time_of) {
  if (map.size() <= count_max) return;
  const std::size_t gone = map.size() - (count_max - count_max / 4);
  std::vector<TimePoint> times;
  times.reserve(map.size());
  for (const auto& each : map) times.push_back(time_of(each.second));
  const auto last_gone = times.begin() + static_cast<std::ptrdiff_t>(gone) - 1;
  std::ranges::nth_element(times, last_gone);
  const TimePoint limit = *last_gone;
  auto of_that_time = std::count(times.begin(), last_gone + 1, limit);
  std::erase_if(map, [&](const auto& each) {
    const TimePoint time = time_of(each.second);
    return time < limit || (time == limit && of_that_time-- > 0);
  });
}

}  // namespace

std::string EventLedger::fresh_name(const ObjectKey& key) {
  std::array<char, kSuffixBytes + 1> suffix = {};
  const auto number = static_cast<unsigned long long>(random_bits(seed_, ++names_made_));
  std::snprintf(suffix.data(), suffix.size(), ".%016llx", number);
  return key.name.substr(0, kNameBytesMax - kSuffixBytes) + suffix.data();
}

std::string EventLedger::combined(const std::string& uid, EventKind kind, const std::string& reason,
                                  std::string message, TimePoint now) {
  Variety& variety = varieties_[{uid, kind, reason}];
  variety.last_at = now;
  std::erase_if(variety.messages,
                [&](const auto& each) { return now - each.second > limits_.equal_window; });
  const bool is_new = !variety.messages.contains(message);
  if (is_new && variety.messages.size() >= limits_.messages_max) {
    // One text for all that follow, so that they count up on one object.
    return "(combined from similar events)";
  }
  variety.messages[message] = now;
  return message;
}

EventLedger::Noted EventLedger::note(const EventSubject& subject, EventKind kind,
                                     const std::string& reason, std::string message, TimePoint now,
                                     WallTime wall_now) {
  message = cut(std::move(message), limits_.message_bytes_max);
  const std::string kept_message = combined(subject.uid, kind, reason, message, now);
  const Key key = {subject.uid, kind, reason, kept_message};
  const auto known = ids_.find(key);
  if (known != ids_.end()) {
    const Kept& kept = entries_.at(known->second);
    // A new object for an event that was away for long; the old one has its own story.
    if (!kept.is_queued && now - kept.last_at > limits_.equal_window) {
      entries_.erase(known->second);
      ids_.erase(known);
    }
  }
  const auto [slot, is_new] = ids_.try_emplace(key, last_id_ + 1);
  Kept& kept = entries_[slot->second];
  if (is_new) {
    ++last_id_;
    kept.entry = {.subject = subject,
                  .kind = kind,
                  .reason = reason,
                  .message = kept_message,
                  .name = fresh_name(subject.key),
                  .count = 0,
                  .first_seen = wall_now,
                  .last_seen = wall_now};
  }
  ++kept.entry.count;
  kept.entry.last_seen = wall_now;
  kept.last_at = now;
  // Combined events show the latest of them.
  if (kept_message != message)
    kept.entry.message = cut(kept_message + ": " + message, limits_.message_bytes_max);
  Noted noted = {EventVerdict::kCoalesced, slot->second};
  if (!kept.is_queued) {
    kept.is_queued = may_write(kept.entry, now);
    noted.verdict = kept.is_queued ? EventVerdict::kWrite : EventVerdict::kSuppressed;
  }
  forget_old();
  return noted;
}

bool EventLedger::may_write(const EventEntry& entry, TimePoint now) {
  const auto per_second = [](Duration refill) {
    return 1 / std::chrono::duration<double>(refill).count();
  };
  const auto about =
      about_
          .try_emplace(entry.subject.uid, TokenBucket(per_second(limits_.refill), limits_.burst),
                       TokenBucket(per_second(limits_.news_refill), limits_.news_burst), now)
          .first;
  about->second.last_at = now;
  return (entry.is_stored ? about->second.repeats : about->second.news).try_take(now);
}

void EventLedger::forget_old() {
  if (entries_.size() > limits_.entries_max) {
    shrink(entries_, limits_.entries_max, [](const Kept& kept) { return kept.last_at; });
    std::erase_if(ids_, [&](const auto& each) { return !entries_.contains(each.second); });
  }
  shrink(about_, limits_.entries_max, [](const About& about) { return about.last_at; });
  shrink(varieties_, limits_.entries_max, [](const Variety& each) { return each.last_at; });
}

std::optional<EventEntry> EventLedger::begin_write(std::uint64_t id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  found->second.is_queued = false;
  return found->second.entry;
}

void EventLedger::end_write(std::uint64_t id, bool is_stored) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  EventEntry& entry = found->second.entry;
  if (!is_stored) entry.name = fresh_name(entry.subject.key);
  entry.is_stored = is_stored;
}

std::string event_namespace(const EventEntry& entry) {
  const std::string& name_space = entry.subject.key.name_space;
  return name_space.empty() ? "default" : name_space;
}

Json event_object(const EventEntry& entry, const std::string& component,
                  const std::string& instance) {
  Json subject = {{"apiVersion", entry.subject.resource.api_version()},
                  {"kind", entry.subject.resource.kind},
                  {"name", entry.subject.key.name},
                  {"uid", entry.subject.uid}};
  if (!entry.subject.key.name_space.empty()) subject["namespace"] = entry.subject.key.name_space;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", entry.name}, {"namespace", event_namespace(entry)}}},
          {"involvedObject", std::move(subject)},
          {"type", entry.kind == EventKind::kWarning ? "Warning" : "Normal"},
          {"reason", entry.reason},
          {"message", entry.message},
          {"count", entry.count},
          {"firstTimestamp", time_text(entry.first_seen)},
          {"lastTimestamp", time_text(entry.last_seen)},
          {"source", {{"component", component}}},
          {"reportingComponent", component},
          {"reportingInstance", instance}};
}

Json event_patch(const EventEntry& entry) {
  return {{"count", entry.count},
          {"lastTimestamp", time_text(entry.last_seen)},
          {"message", entry.message}};
}

}  // namespace kantha::kube
