#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/token_event.h"
#include "engine/serve/latency_sketch.h"

/// The server's series under vLLM's names (prefix "vllm:", labels model_name and engine="0"), so
/// that existing dashboards work, and ours under "kantha_". docs/metrics.md describes each.
namespace kantha::serve {

/// What `vllm:cache_config_info` says.
struct CacheFacts {
  std::int64_t block_size = 0;
  std::int64_t blocks = 0;
  bool prefix_caching = true;
};

/// What waits at the door and is not at the engine yet, and how the engine does.
struct DoorNumbers {
  std::int64_t requests_preparing = 0;
  std::int64_t tokens_preparing = 0;  ///< estimated
  bool stalled = false;
};

/// The times of one choice; those that never came are zero.
struct ChoiceTimes {
  TimePoint arrived{};
  TimePoint first_scheduled{};
  TimePoint first_token{};
  TimePoint last_token{};
  TimePoint ended{};
};

/// How one choice ended.
struct ChoiceEnd {
  sched::FinishReason reason = sched::FinishReason::kStop;
  ChoiceTimes times;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< of the prompt
  std::int64_t output_tokens = 0;  ///< resumed ones included
  std::int64_t made_tokens = 0;    ///< seen by this server
};

/// I/O thread only. HTTP counts work from the start; the engine's series appear, all with 0, when
/// the model is known.
class EngineMetrics {
 public:
  /// Makes every series of the engine. Called once.
  void open(const std::string& model_name, const CacheFacts& facts);
  /// Makes the series of one route, with 0.
  void open_route(std::string_view route);

  void count_http(std::string_view route, int status);
  /// The door refused a request for want of room or because it does not serve.
  void count_refusal(bool queue_full);
  /// A request goes to the engine.
  void observe_request(std::int64_t samples, std::int64_t max_tokens);
  void observe_first_token(double seconds, TimePoint now);
  void observe_inter_token(double seconds, TimePoint now);
  /// One choice ended, for whatever reason.
  void observe_end(const ChoiceEnd& end);
  /// A request ended before it came to the engine.
  void count_end(sched::FinishReason reason);

  /// Of the last 30 to 60 seconds.
  const LatencySketch& first_token() const { return first_token_sketch_; }
  const LatencySketch& inter_token() const { return inter_token_sketch_; }

  /// Everything as text. `stats` are the engine's numbers now; nullptr while there is no engine.
  std::string scrape(const gateway::EngineStats* stats, const DoorNumbers& door);

 private:
  void open_engine(const MetricLabels& labels);
  void open_door(const MetricLabels& labels);
  void open_times(const MetricLabels& labels);
  void open_sizes(const MetricLabels& labels);
  void open_counters(const MetricLabels& labels);
  void observe_times(const ChoiceEnd& end);

  MetricRegistry registry_;
  gateway::EngineStats stats_;  // what the scrape shows
  DoorNumbers door_;
  LatencySketch first_token_sketch_;
  LatencySketch inter_token_sketch_;
  std::array<Counter*, sched::kFinishReasonCount> finished_{};  // by FinishReason
  Counter* queue_full_ = nullptr;
  Counter* unavailable_ = nullptr;
  Counter* cached_ = nullptr;
  Counter* from_compute_ = nullptr;
  Counter* from_cache_ = nullptr;
  Histogram* first_token_ = nullptr;
  Histogram* inter_token_ = nullptr;
  Histogram* per_token_ = nullptr;
  Histogram* latency_ = nullptr;
  Histogram* queue_ = nullptr;
  Histogram* prefill_ = nullptr;
  Histogram* decode_ = nullptr;
  Histogram* inference_ = nullptr;
  Histogram* prompt_tokens_ = nullptr;
  Histogram* output_tokens_ = nullptr;
  Histogram* computed_tokens_ = nullptr;
  Histogram* max_tokens_ = nullptr;
  Histogram* samples_ = nullptr;
  std::map<std::pair<std::string, int>, Counter*> http_;
};

}  // namespace kantha::serve
