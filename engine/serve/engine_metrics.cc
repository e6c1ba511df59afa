#include "engine/serve/engine_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/serve/engine_series.h"

namespace kantha::serve {
namespace {

// vLLM's buckets, with finer ones below: its lowest say nothing about small models.
const std::vector<double> kFirstTokenBuckets{.0005, .001, .0025, .005, .01, .02, .04, .06,
                                             .08,   .1,   .25,   .5,   .75, 1,   2.5, 5,
                                             7.5,   10,   20,    40,   80,  160, 640, 2560};
const std::vector<double> kInterTokenBuckets{.0005, .001, .0025, .005, .0075, .01, .025, .05,
                                             .075,  .1,   .15,   .2,   .3,    .4,  .5,   .75,
                                             1,     2.5,  5,     7.5,  10,    20,  40,   80};
const std::vector<double> kLatencyBuckets{.001, .005, .01, .025, .05, .1,  .2,   .3,  .5, .8,
                                          1,    1.5,  2,   2.5,  5,   10,  15,   20,  30, 40,
                                          50,   60,   120, 240,  480, 960, 1920, 7680};
const std::vector<double> kTokenBuckets{1,   2,    5,    10,   20,    50,    100,   200,
                                        500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
const std::vector<double> kSampleBuckets{1, 2, 5, 10, 20};

MetricLabels with(MetricLabels labels, const std::string& name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

double seconds_between(TimePoint from, TimePoint to) {
  return std::max(std::chrono::duration<double>(to - from).count(), 0.0);
}

HistogramTotals totals_of(const gateway::StepSizes& sizes) {
  HistogramTotals totals;
  for (const std::int64_t count : sizes.counts) {
    totals.counts.push_back(static_cast<double>(count));
  }
  totals.sum = static_cast<double>(sizes.tokens);
  return totals;
}

}  // namespace

void EngineMetrics::open(const std::string& model_name, const CacheFacts& facts) {
  const MetricLabels labels{{"model_name", model_name}, {"engine", "0"}};
  open_engine(labels);
  open_door(labels);
  open_times(labels);
  open_sizes(labels);
  open_counters(labels);
  MetricLabels info = with(labels, "block_size", std::to_string(facts.block_size));
  info = with(info, "num_gpu_blocks", std::to_string(facts.blocks));
  info = with(info, "num_cpu_blocks", std::to_string(facts.blocks));
  info = with(info, "cache_dtype", "auto");
  info = with(info, "enable_prefix_caching", facts.prefix_caching ? "True" : "False");
  registry_.gauge("vllm:cache_config_info", "Shape of the KV cache, as labels", info,
                  [] { return 1.0; });
}

void EngineMetrics::open_engine(const MetricLabels& labels) {
  for (const EngineSeries& series : engine_series()) {
    const MetricLabels own =
        series.label == nullptr ? labels : with(labels, series.label, series.label_value);
    std::function<double()> read = [this, &series] { return series.read(stats_); };
    if (std::string_view(series.name).ends_with("_total")) {
      registry_.counter(series.name, series.help, own, std::move(read));
    } else {
      registry_.gauge(series.name, series.help, own, std::move(read));
    }
  }
}

void EngineMetrics::open_door(const MetricLabels& labels) {
  registry_.gauge("vllm:engine_healthy", "1 unless the engine has work and makes no progress",
                  labels, [this] { return door_.stalled ? 0.0 : 1.0; });
  registry_.gauge("kantha_requests_preparing",
                  "Requests at the template or the tokenizer, not yet at the engine", labels,
                  [this] { return static_cast<double>(door_.requests_preparing); });
  registry_.gauge("kantha_preparing_tokens", "Prompt tokens of those, estimated", labels,
                  [this] { return static_cast<double>(door_.tokens_preparing); });
}

void EngineMetrics::open_times(const MetricLabels& labels) {
  const auto histogram = [&](const char* name, const char* help, const auto& buckets) {
    return &registry_.histogram(name, help, labels, buckets);
  };
  first_token_ = histogram("vllm:time_to_first_token_seconds",
                           "From the request's arrival to its first token", kFirstTokenBuckets);
  inter_token_ = histogram("vllm:inter_token_latency_seconds", "Between two tokens of one choice",
                           kInterTokenBuckets);
  per_token_ = histogram("vllm:request_time_per_output_token_seconds",
                         "Mean time between the tokens of one choice", kInterTokenBuckets);
  latency_ = histogram("vllm:e2e_request_latency_seconds", "From the request's arrival to its end",
                       kLatencyBuckets);
  queue_ = histogram("vllm:request_queue_time_seconds",
                     "From the request's arrival to its first step", kLatencyBuckets);
  prefill_ = histogram("vllm:request_prefill_time_seconds",
                       "From the first step to the first token", kLatencyBuckets);
  decode_ = histogram("vllm:request_decode_time_seconds", "From the first token to the last",
                      kLatencyBuckets);
  inference_ = histogram("vllm:request_inference_time_seconds",
                         "From the first step to the last token", kLatencyBuckets);
}

void EngineMetrics::open_sizes(const MetricLabels& labels) {
  const auto histogram = [&](const char* name, const char* help, const auto& buckets) {
    return &registry_.histogram(name, help, labels, buckets);
  };
  prompt_tokens_ =
      histogram("vllm:request_prompt_tokens", "Prompt tokens per choice", kTokenBuckets);
  output_tokens_ =
      histogram("vllm:request_generation_tokens", "Output tokens per choice", kTokenBuckets);
  computed_tokens_ =
      histogram("vllm:request_prefill_kv_computed_tokens",
                "Prompt tokens computed per choice, without cached ones", kTokenBuckets);
  max_tokens_ = histogram("vllm:request_params_max_tokens", "Output tokens that a request allows",
                          kTokenBuckets);
  samples_ = histogram("vllm:request_params_n", "Samples that a request asks for", kSampleBuckets);
  const auto& bounds = gateway::StepSizes::kBounds;
  registry_.histogram("vllm:iteration_tokens_total", "Tokens computed per step", labels,
                      std::vector<double>(bounds.begin(), bounds.end()),
                      [this] { return totals_of(stats_.step_sizes); });
}

void EngineMetrics::open_counters(const MetricLabels& labels) {
  const char* reasons[sched::kFinishReasonCount] = {"stop", "length", "abort", "error", "deadline"};
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    finished_[i] = &registry_.counter("vllm:request_success_total", "Choices ended, by reason",
                                      with(labels, "finished_reason", reasons[i]));
  }
  const auto refusal = [&](const char* reason) {
    return &registry_.counter("vllm:admission_rejections_total", "Requests refused at the door",
                              with(labels, "reason", reason));
  };
  queue_full_ = refusal("queue_full");
  unavailable_ = refusal("unavailable");
  cached_ =
      &registry_.counter("vllm:prompt_tokens_cached_total",
                         "Prompt tokens of ended choices that the prefix cache saved", labels);
  const auto source = [&](const char* name) {
    return &registry_.counter("vllm:prompt_tokens_by_source_total",
                              "Prompt tokens of ended choices, by where they came from",
                              with(labels, "source", name));
  };
  from_compute_ = source("local_compute");
  from_cache_ = source("local_cache_hit");
}

void EngineMetrics::open_route(std::string_view route) {
  http_[{std::string(route), 200}] =
      &registry_.counter("kantha_http_requests_total", "HTTP requests answered",
                         {{"route", std::string(route)}, {"code", "200"}});
}

void EngineMetrics::count_http(std::string_view route, int status) {
  Counter*& counter = http_[{std::string(route), status}];
  if (counter == nullptr) {
    counter = &registry_.counter("kantha_http_requests_total", "HTTP requests answered",
                                 {{"route", std::string(route)}, {"code", std::to_string(status)}});
  }
  counter->add();
}

void EngineMetrics::count_refusal(bool queue_full) {
  Counter* const counter = queue_full ? queue_full_ : unavailable_;
  if (counter != nullptr) counter->add();
}

void EngineMetrics::observe_request(std::int64_t samples, std::int64_t max_tokens) {
  samples_->observe(static_cast<double>(samples));
  max_tokens_->observe(static_cast<double>(max_tokens));
}

void EngineMetrics::observe_first_token(double seconds, TimePoint now) {
  first_token_->observe(seconds);
  first_token_sketch_.observe(seconds, now);
}

void EngineMetrics::observe_inter_token(double seconds, TimePoint now) {
  inter_token_->observe(seconds);
  inter_token_sketch_.observe(seconds, now);
}

void EngineMetrics::count_end(sched::FinishReason reason) {
  finished_[static_cast<std::size_t>(reason)]->add();
}

void EngineMetrics::observe_end(const ChoiceEnd& end) {
  count_end(end.reason);
  latency_->observe(seconds_between(end.times.arrived, end.times.ended));
  prompt_tokens_->observe(static_cast<double>(end.prompt_tokens));
  output_tokens_->observe(static_cast<double>(end.output_tokens));
  if (end.times.first_scheduled != TimePoint{}) observe_times(end);
}

/// Of a choice that was worked on.
void EngineMetrics::observe_times(const ChoiceEnd& end) {
  const ChoiceTimes& times = end.times;
  queue_->observe(seconds_between(times.arrived, times.first_scheduled));
  if (times.first_token == TimePoint{}) return;
  prefill_->observe(seconds_between(times.first_scheduled, times.first_token));
  const double decode = seconds_between(times.first_token, times.last_token);
  decode_->observe(decode);
  inference_->observe(seconds_between(times.first_scheduled, times.last_token));
  if (end.made_tokens > 1) {
    per_token_->observe(decode / static_cast<double>(end.made_tokens - 1));
  }
  const auto cached = static_cast<double>(end.cached_tokens);
  const double computed = std::max(static_cast<double>(end.prompt_tokens) - cached, 0.0);
  computed_tokens_->observe(computed);
  cached_->add(cached);
  from_cache_->add(cached);
  from_compute_->add(computed);
}

std::string EngineMetrics::scrape(const gateway::EngineStats* stats, const DoorNumbers& door) {
  if (stats != nullptr) stats_ = *stats;
  door_ = door;
  return registry_.scrape();
}

}  // namespace kantha::serve
