#include "bench/load/arrivals.h"

#include <algorithm>
#include <map>

#include "base/json_fields.h"
#include "bench/load/draws.h"

namespace kantha::bench {
namespace {

constexpr std::size_t kArrivalsMax = 1'000'000;
constexpr double kTimeMsMax = 1e10;
constexpr std::int64_t kTokensMax = 1'000'000;

Duration from_s(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// A required count under one of two names.
Result<int> read_count(const JsonFields& fields, std::string_view name, std::string_view other) {
  const std::string_view present = fields.find(name) == nullptr ? other : name;
  TRY(const auto value, fields.integer(present, 1, kTokensMax));
  if (!value) return invalid_argument("expected a number of tokens", fields.path_of(name));
  return static_cast<int>(*value);
}

using PrefixIndices = std::map<std::string, int>;

Status read_prefix(const JsonFields& fields, PrefixIndices& prefixes, RequestShape& shape) {
  TRY(const auto id, fields.string("prefix_id"));
  TRY(const auto tokens, fields.integer("prefix_tokens", 0, shape.input_tokens));
  if (id.has_value() != tokens.has_value()) {
    return invalid_argument("goes together with prefix_tokens", "prefix_id");
  }
  if (!id) return ok_status();
  const int next = static_cast<int>(prefixes.size());
  shape.prefix_index = prefixes.try_emplace(*id, next).first->second;
  shape.prefix_tokens = static_cast<int>(*tokens);
  return ok_status();
}

Result<TraceEntry> read_entry(const Json& json, PrefixIndices& prefixes) {
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  const std::string_view at = fields.find("at_ms") == nullptr ? "timestamp" : "at_ms";
  TRY(const auto at_ms, fields.number(at, 0, kTimeMsMax));
  if (!at_ms) return invalid_argument("expected milliseconds", "at_ms");
  TraceEntry entry;
  entry.due = from_s(*at_ms / 1e3);
  TRY(entry.shape.input_tokens, read_count(fields, "prompt_tokens", "input_length"));
  TRY(entry.shape.output_tokens, read_count(fields, "output_tokens", "output_length"));
  TRY_OK(read_prefix(fields, prefixes, entry.shape));
  return entry;
}

/// By time, equal times in the order of the lines, the first at 0.
std::vector<TraceEntry> in_order(const std::vector<TraceEntry>& entries) {
  std::multimap<Duration, TraceEntry> sorted;
  for (const TraceEntry& entry : entries) sorted.emplace(entry.due, entry);
  std::vector<TraceEntry> out;
  for (const auto& [due, entry] : sorted) {
    out.push_back(entry);
    out.back().due = due - sorted.begin()->first;
  }
  return out;
}

}  // namespace

std::vector<Duration> poisson_arrivals(double rate_per_s, std::size_t requests, Duration length,
                                       std::uint64_t seed, std::uint64_t first_index) {
  std::vector<Duration> due;
  double at_s = 0;
  const double end_s = std::chrono::duration<double>(length).count();
  const std::size_t count = requests == 0 ? kArrivalsMax : std::min(requests, kArrivalsMax);
  while (due.size() < count && (length == Duration::zero() || at_s < end_s)) {
    due.push_back(from_s(at_s));
    at_s += Draws(seed, Stream::kArrivals, first_index + due.size()).exponential() / rate_per_s;
  }
  return due;
}

Result<std::vector<TraceEntry>> parse_trace(std::string_view text) {
  std::vector<TraceEntry> entries;
  PrefixIndices prefixes;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<Json> json = parse_json(line);
    const Result<TraceEntry> entry = json.ok() ? read_entry(*json, prefixes) : json.error();
    if (!entry.ok()) {
      const std::string where = "line " + std::to_string(number);
      const std::string& name = entry.error().field;
      return invalid_argument(where + ": " + (name.empty() ? "" : name + ": ") +
                              entry.error().message);
    }
    entries.push_back(*entry);
    if (entries.size() > kArrivalsMax) return invalid_argument("more than a million requests");
  }
  if (entries.empty()) return invalid_argument("no requests");
  return in_order(entries);
}

}  // namespace kantha::bench
