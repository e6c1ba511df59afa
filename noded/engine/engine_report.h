#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

/// What an engine says of itself.
namespace kantha::noded {

/// What the probe saw of a running engine.
enum class ProbeAnswer : std::uint8_t { kNone, kLoading, kReady };

/// The engine's own numbers, as GET /admin/v1/state gives them.
struct EngineReport {
  std::string version;
  std::string phase;           ///< "loading", "ready" or "draining"
  std::string message;         ///< what it is doing, for people
  std::string config_hash;     ///< SHA-256 of the configuration file as it read it
  std::string tokenizer_hash;  ///< of vocabulary and chat template, once it is ready
  std::int64_t pid = 0;        ///< in its own container
  std::int64_t restarts = 0;
  std::string last_end;  ///< how the one before ended: "crashed", "was_ended"; else not known
  std::int64_t uptime_ms = 0;
  std::int64_t blocks_total = 0;
  std::int64_t blocks_active = 0;
  std::int64_t blocks_cached = 0;
  std::int64_t blocks_free = 0;
  std::int64_t waiting_tokens = 0;
  std::int64_t generation_tokens_total = 0;
  double kv_pressure = 0;
};

/// Reads the fields that we know; kInvalidArgument on wrong types, so that a lying engine is
/// noticed.
Result<EngineReport> engine_report_from_json(const Json& json);

/// The last report of the engine process that runs, and what two of them tell. Plain data.
class ReportBook {
 public:
  /// Whether it is time for another one.
  bool due(TimePoint now) const;
  /// A report that was asked for at that moment.
  void note(EngineReport report, TimePoint asked);
  /// One that was asked for in between: its numbers count if it is of the same process. What is
  /// due, and the rate, go by the others, so that questions do not keep the watch from its own.
  void freshen(EngineReport report, TimePoint asked);
  /// The engine process is another one.
  void forget() { *this = ReportBook(); }

  const EngineReport& last() const { return last_; }
  /// When it was asked for.
  std::optional<TimePoint> taken() const { return taken_; }
  double tokens_per_second() const { return tokens_per_second_; }

 private:
  EngineReport last_;
  std::optional<TimePoint> taken_;
  std::optional<TimePoint> noted_;
  std::int64_t noted_tokens_ = 0;
  double tokens_per_second_ = 0;
};

}  // namespace kantha::noded
