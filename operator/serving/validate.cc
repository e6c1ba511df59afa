#include "operator/serving/validate.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "operator/serving/field_reader.h"
#include "operator/serving/quantity.h"
#include "operator/serving/rollout_window.h"

namespace kantha::serving {
namespace {

constexpr std::int64_t kReplicasMax = 10'000;
constexpr std::int64_t kTokensMax = 1 << 20;
constexpr std::int64_t kCpusMax = 1024;
constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::ptrdiff_t kTextMax = 4'096;  // characters

/// Collects broken rules.
class Judge {
 public:
  void add(std::string path, std::string message) {
    problems_.push_back({std::move(path), std::move(message)});
  }
  Problems take() { return std::move(problems_); }

  void range(const std::string& path, std::int64_t value, std::int64_t min, std::int64_t max) {
    if (value >= min && value <= max) return;
    add(path, "expected an integer in [" + std::to_string(min) + ", " + std::to_string(max) +
                  "], got " + std::to_string(value));
  }

  /// A number in [min, max]; with `above` the lower end itself is excluded.
  void number(const std::string& path, double value, double min, double max, bool above) {
    const bool low = above ? value <= min : value < min;
    if (std::isfinite(value) && !low && value <= max) return;
    add(path, std::string("expected a number in ") + (above ? "(" : "[") + shown_value(Json(min)) +
                  ", " + shown_value(Json(max)) + "], got " + shown_value(Json(value)));
  }

  void text(const std::string& path, std::string_view value) {
    // Characters, as the CRD's maxLength counts them.
    const auto length = std::count_if(value.begin(), value.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    });
    if (length > kTextMax) {
      add(path, "has " + std::to_string(length) + " characters, at most " +
                    std::to_string(kTextMax) + " are allowed");
    }
    const bool control = std::any_of(value.begin(), value.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    if (control) add(path, "contains control characters");
  }

  void filled(const std::string& path, std::string_view value) {
    if (value.empty()) add(path, "is required and must not be empty");
    text(path, value);
  }

  void quantity(const std::string& path, std::string_view value, std::int64_t units_min) {
    if (value.empty()) return;
    const Result<std::int64_t> milli = quantity_milli(value);
    if (!milli.ok()) return add(path, milli.error().message);
    if (*milli < units_min * 1000 || *milli == 0) {
      add(path, "expected at least " + std::to_string(std::max<std::int64_t>(1, units_min)) +
                    (units_min == 0 ? "m" : "") + ", got \"" + std::string(value) + "\"");
    }
  }

  void one_of(const std::string& path, std::string_view value,
              std::initializer_list<std::string_view> names) {
    if (std::find(names.begin(), names.end(), value) != names.end()) return;
    std::string list;
    for (const std::string_view name : names) {
      if (name.empty()) continue;
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    add(path, "expected one of " + list + ", got " + shown_value(Json(value)));
  }

 private:
  Problems problems_;
};

void judge_metadata(const ObjectMeta& metadata, Judge& judge) {
  if (const std::string problem = label_problem(metadata.name); !problem.empty()) {
    judge.add("metadata.name", problem);
  }
  if (metadata.name_space.empty()) return;
  if (const std::string problem = label_problem(metadata.name_space); !problem.empty()) {
    judge.add("metadata.namespace", problem);
  }
}

void judge_http(const HttpSource& http, Judge& judge) {
  const std::string path = "spec.model.source.http";
  if (!http.url.starts_with("https://") && !http.url.starts_with("http://")) {
    judge.add(path + ".url", "expected an http or https URL, got " + shown_value(Json(http.url)));
  }
  judge.text(path + ".url", http.url);
  const bool hex = http.sha256.size() == 64 &&
                   http.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) {
    judge.add(path + ".sha256",
              "expected 64 lower-case hex digits, got " + shown_value(Json(http.sha256)));
  }
}

void judge_model(const ModelSpec& model, Judge& judge) {
  judge.text("spec.model.name", model.name);
  const ModelSource& source = model.source;
  const int count = source.host_path.has_value() + source.pvc.has_value() +
                    source.http.has_value() + source.image.has_value();
  if (count != 1) {
    judge.add("spec.model.source", "expected exactly one of hostPath, pvc, http, image, got " +
                                       (count == 0 ? "none" : std::to_string(count)));
  }
  if (source.host_path) judge.filled("spec.model.source.hostPath", *source.host_path);
  if (source.pvc) {
    judge.filled("spec.model.source.pvc.claimName", source.pvc->claim_name);
    judge.filled("spec.model.source.pvc.path", source.pvc->path);
  }
  if (source.http) judge_http(*source.http, judge);
  if (source.image) {
    judge.filled("spec.model.source.image.reference", source.image->reference);
    judge.filled("spec.model.source.image.path", source.image->path);
  }
}

void judge_engine(const EngineSpec& engine, Judge& judge) {
  const EngineConfig& config = engine.config;
  const std::string path = "spec.engine.config.";
  judge.text("spec.engine.image", engine.image);
  if (config.max_model_len == 1) {
    judge.add(path + "maxModelLen", "expected 0 (the model's own) or at least 2, got 1");
  } else {
    judge.range(path + "maxModelLen", config.max_model_len, 0, kTokensMax);
  }
  judge.range(path + "maxNumSeqs", config.max_num_seqs, 1, 4'096);
  judge.range(path + "blockSize", config.block_size, 1, 256);
  judge.one_of(path + "kvCacheDtype", config.kv_cache_dtype, {"auto"});
  judge.quantity(path + "kvCacheMemory", config.kv_cache_memory, 1 << 20);
  judge.number(path + "gpuMemoryUtilization", config.gpu_memory_utilization, 0.01, 1, false);
  judge.range(path + "ttftTargetMs", config.ttft_target_ms, 100, 3'600'000);
  judge.range(path + "itlTargetMs", config.itl_target_ms, 0, 60'000);
  // The names that engine/dialect knows.
  judge.one_of(path + "toolParser", config.tool_parser,
               {"auto", "hermes", "qwen3_coder", "llama3_json", "mistral", "pythonic",
                "deepseek_v3", "none"});
  judge.one_of(path + "reasoningParser", config.reasoning_parser,
               {"auto", "think", "deepseek_r1", "mistral", "seed_oss", "kimi", "none"});
}

/// The limits of autoscaling/v2, so that an HPA made from it is never refused.
void judge_rules(const std::string& path, const std::optional<ScalingRules>& given, Judge& judge) {
  if (!given) return;
  if (given->stabilization_window_seconds) {
    judge.range(path + "stabilizationWindowSeconds", *given->stabilization_window_seconds, 0,
                3'600);
  }
  judge.one_of(path + "selectPolicy", given->select_policy, {"", "Max", "Min", "Disabled"});
  for (std::size_t i = 0; i < given->policies.size(); ++i) {
    const ScalingPolicy& policy = given->policies[i];
    const std::string at = path + "policies[" + std::to_string(i) + "].";
    judge.one_of(at + "type", policy.type, {"Pods", "Percent"});
    judge.range(at + "value", policy.value, 1, kReplicasMax);
    judge.range(at + "periodSeconds", policy.period_seconds, 1, 1'800);
  }
  if (given->tolerance.empty()) return;
  const Result<std::int64_t> milli = quantity_milli(given->tolerance);
  if (!milli.ok()) return judge.add(path + "tolerance", milli.error().message);
  if (*milli < 0 || *milli > 1000) {
    judge.add(path + "tolerance", "expected a share of the target from 0 to 1, such as 100m, got " +
                                      shown_value(Json(given->tolerance)));
  }
}

void judge_counts(const ModelServingSpec& spec, Judge& judge) {
  if (spec.replicas) judge.range("spec.replicas", *spec.replicas, 0, kReplicasMax);
  if (!spec.autoscaling) return;
  const AutoscalingSpec& scaling = *spec.autoscaling;
  const std::string path = "spec.autoscaling.";
  judge.range(path + "minReplicas", scaling.min_replicas, 0, kReplicasMax);
  judge.range(path + "maxReplicas", scaling.max_replicas, 1, kReplicasMax);
  judge.range(path + "idleSeconds", scaling.idle_seconds, 1, 7 * kDaySeconds);
  judge.number(path + "targetKvPressure", scaling.target_kv_pressure, 0, 1, true);
  judge_rules(path + "behavior.scaleUp.", scaling.behavior.scale_up, judge);
  judge_rules(path + "behavior.scaleDown.", scaling.behavior.scale_down, judge);
  if (scaling.min_replicas > scaling.max_replicas && scaling.max_replicas > 0) {
    judge.add(path + "maxReplicas", "expected at least minReplicas (" +
                                        std::to_string(scaling.min_replicas) + "), got " +
                                        std::to_string(scaling.max_replicas));
    return;
  }
  if (!spec.replicas || *spec.replicas <= 0) return;
  if (*spec.replicas < scaling.min_replicas || *spec.replicas > scaling.max_replicas) {
    judge.add("spec.replicas", "expected 0 or a number that autoscaling allows, [" +
                                   std::to_string(scaling.min_replicas) + ", " +
                                   std::to_string(scaling.max_replicas) + "], got " +
                                   std::to_string(*spec.replicas));
  }
}

void judge_resources(const ResourcesSpec& resources, Judge& judge) {
  judge.range("spec.resources.accelerator.count", resources.accelerator.count, 0, 64);
  judge.filled("spec.resources.accelerator.resourceName", resources.accelerator.resource_name);
  judge.quantity("spec.resources.cpu", resources.cpu, 0);
  if (const auto cpus = quantity_units(resources.cpu); cpus.ok() && *cpus > kCpusMax) {
    judge.add("spec.resources.cpu",
              "expected at most " + std::to_string(kCpusMax) + ", got \"" + resources.cpu + "\"");
  }
  judge.quantity("spec.resources.memory", resources.memory, 1);
}

void judge_scheduling(const SchedulingSpec& scheduling, Judge& judge) {
  for (std::size_t i = 0; i < scheduling.tolerations.size(); ++i) {
    const Toleration& entry = scheduling.tolerations[i];
    const std::string path = "spec.scheduling.tolerations[" + std::to_string(i) + "].";
    judge.one_of(path + "operator", entry.op, {"", "Exists", "Equal"});
    judge.one_of(path + "effect", entry.effect,
                 {"", "NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (entry.op != "Exists" && entry.key.empty()) {
      judge.add(path + "key", "is required unless operator is Exists");
    }
    if (entry.op == "Exists" && !entry.value.empty()) {
      judge.add(path + "value", "must be empty when operator is Exists");
    }
  }
  for (std::size_t i = 0; i < scheduling.topology_spread_constraints.size(); ++i) {
    const TopologySpread& entry = scheduling.topology_spread_constraints[i];
    const std::string path =
        "spec.scheduling.topologySpreadConstraints[" + std::to_string(i) + "].";
    judge.range(path + "maxSkew", entry.max_skew, 1, kReplicasMax);
    judge.filled(path + "topologyKey", entry.topology_key);
    judge.one_of(path + "whenUnsatisfiable", entry.when_unsatisfiable,
                 {"DoNotSchedule", "ScheduleAnyway"});
  }
}

/// A ring, or maxUnavailable: at least 1, percentages at most 100.
void judge_share(const std::string& path, const IntOrPercent& value, Judge& judge) {
  const std::int64_t max = value.percent ? 100 : kReplicasMax;
  if (value.value >= 1 && value.value <= max) return;
  judge.add(path, "expected an integer in [1, " + std::to_string(kReplicasMax) +
                      "] or a percentage in [1%, 100%], got " + int_or_percent_text(value));
}

void judge_rings(const std::vector<RingSpec>& rings, Judge& judge) {
  std::set<std::string> names;
  IntOrPercent count{0, false};
  IntOrPercent share{0, true};
  for (std::size_t i = 0; i < rings.size(); ++i) {
    const std::string path = "spec.rollout.rings[" + std::to_string(i) + "]";
    if (const std::string problem = label_problem(rings[i].name); !problem.empty()) {
      judge.add(path + ".name", problem);
    } else if (!names.insert(rings[i].name).second) {
      judge.add(path + ".name", "the name \"" + rings[i].name + "\" is taken by another ring");
    }
    judge_share(path + ".size", rings[i].size, judge);
    // Counts and shares cannot be compared before the number of pods is known.
    IntOrPercent& largest = rings[i].size.percent ? share : count;
    if (rings[i].size < largest) {
      judge.add(path + ".size", "rings grow: expected at least " + int_or_percent_text(largest) +
                                    ", got " + int_or_percent_text(rings[i].size));
    }
    largest = std::max(largest, rings[i].size);
  }
}

void judge_windows(const std::vector<WindowSpec>& windows, Judge& judge) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::string path = "spec.rollout.windows[" + std::to_string(i) + "].";
    for (std::size_t day = 0; day < windows[i].days.size(); ++day) {
      judge.one_of(path + "days[" + std::to_string(day) + "]", windows[i].days[day],
                   {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"});
    }
    for (const auto& [name, text] :
         {std::pair{"start", &windows[i].start}, std::pair{"end", &windows[i].end}}) {
      if (minute_of_day(*text)) continue;
      judge.add(path + name, "expected a time of day in UTC, such as \"22:00\", got " +
                                 shown_value(Json(*text)));
    }
  }
}

void judge_rollout(const RolloutSpec& rollout, Judge& judge) {
  const std::string path = "spec.rollout.";
  judge_rings(rollout.rings, judge);
  judge_windows(rollout.windows, judge);
  judge.range(path + "bake.seconds", rollout.bake.seconds, 0, 30 * kDaySeconds);
  judge.range(path + "bake.minRequests", rollout.bake.min_requests, 0, 1'000'000'000);
  judge.range(path + "progressDeadlineSeconds", rollout.progress_deadline_seconds, 1,
              30 * kDaySeconds);
  judge.text(path + "abort", rollout.abort);
  judge.text(path + "promote", rollout.promote);
  judge.number(path + "gates.maxErrorRatio", rollout.gates.max_error_ratio, 0, 1, false);
  judge.number(path + "gates.maxTtftP95Ratio", rollout.gates.max_ttft_p95_ratio, 0, 1000, true);
  judge.number(path + "gates.maxItlP95Ratio", rollout.gates.max_itl_p95_ratio, 0, 1000, true);
  judge_share(path + "maxUnavailable", rollout.max_unavailable, judge);
}

void judge_gateway(const GatewayLimits& limits, Judge& judge) {
  const std::string path = "spec.gateway.limits.";
  const std::int64_t max = 1'000'000'000'000;
  judge.range(path + "maxQueuedTokens", limits.max_queued_tokens, 0, max);
  judge.range(path + "requestsPerMinute", limits.requests_per_minute, 0, max);
  judge.range(path + "tokensPerMinute", limits.tokens_per_minute, 0, max);
}

}  // namespace

std::string label_problem(std::string_view text) {
  if (text.empty()) return "is required and must not be empty";
  if (text.size() > 63) {
    return "has " + std::to_string(text.size()) + " characters, at most 63 are allowed";
  }
  const auto edge = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool inner =
      std::all_of(text.begin(), text.end(), [&](char c) { return edge(c) || c == '-'; });
  if (inner && edge(text.front()) && edge(text.back())) return {};
  return "expected lower-case letters, digits and '-', beginning and ending with a letter or "
         "digit, got " +
         shown_value(Json(text));
}

Problems validate(const ModelServing& serving) {
  Judge judge;
  judge_metadata(serving.metadata, judge);
  judge_model(serving.spec.model, judge);
  judge_engine(serving.spec.engine, judge);
  judge_counts(serving.spec, judge);
  judge_resources(serving.spec.resources, judge);
  judge_scheduling(serving.spec.scheduling, judge);
  judge_rollout(serving.spec.rollout, judge);
  judge.text("spec.gateway.authSecret", serving.spec.gateway.auth_secret);
  judge_gateway(serving.spec.gateway.limits, judge);
  judge.range("spec.drain.timeoutSeconds", serving.spec.drain.timeout_seconds, 0, kDaySeconds);
  return judge.take();
}

}  // namespace kantha::serving
