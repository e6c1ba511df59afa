#include "operator/local/world_view.h"

#include <array>
#include <ctime>

#include "base/json_fields.h"

namespace kantha::local {
namespace {

constexpr std::size_t kPodsMax = 10'000;
constexpr std::size_t kDecisionsMax = 64;
constexpr std::int64_t kCountMax = INT64_MAX;

Json pod_json(const PodView& pod) {
  return {{"name", pod.name},
          {"phase", pod.phase},
          {"message", pod.message},
          {"revision", pod.revision},
          {"restarts", pod.restarts},
          {"streams", pod.streams},
          {"kvUsed", pod.kv_used},
          {"tokensPerSecond", pod.tokens_per_second},
          {"pid", pod.pid}};
}

Result<std::string> text_of(const JsonFields& fields, std::string_view name) {
  TRY(auto text, fields.string(name));
  return std::move(text).value_or("");
}

Result<std::int64_t> count_of(const JsonFields& fields, std::string_view name) {
  TRY(const auto count, fields.integer(name, 0, kCountMax));
  return count.value_or(0);
}

Result<double> number_of(const JsonFields& fields, std::string_view name) {
  TRY(const auto number, fields.number(name, 0, 1e18));
  return number.value_or(0);
}

Result<PodView> pod_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  PodView out;
  TRY(out.name, text_of(fields, "name"));
  TRY(out.phase, text_of(fields, "phase"));
  TRY(out.message, text_of(fields, "message"));
  TRY(out.revision, text_of(fields, "revision"));
  TRY(out.restarts, count_of(fields, "restarts"));
  TRY(out.streams, count_of(fields, "streams"));
  TRY(out.pid, count_of(fields, "pid"));
  TRY(out.kv_used, number_of(fields, "kvUsed"));
  TRY(out.tokens_per_second, number_of(fields, "tokensPerSecond"));
  return out;
}

serving::ConditionStatus status_from_name(const std::string& name) {
  if (name == "True") return serving::ConditionStatus::kTrue;
  if (name == "False") return serving::ConditionStatus::kFalse;
  return serving::ConditionStatus::kUnknown;
}

Result<ConditionView> condition_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  ConditionView out;
  TRY(out.condition.type, text_of(fields, "type"));
  TRY(const std::string status, text_of(fields, "status"));
  out.condition.status = status_from_name(status);
  TRY(out.condition.reason, text_of(fields, "reason"));
  TRY(out.condition.message, text_of(fields, "message"));
  TRY(out.condition.observed_generation, count_of(fields, "observedGeneration"));
  TRY(out.since, text_of(fields, "lastTransitionTime"));
  return out;
}

Status read_counts(const JsonFields& status, serving::ReplicaCounts& out) {
  TRY(out.existing, count_of(status, "replicas"));
  TRY(out.ready, count_of(status, "readyReplicas"));
  TRY(out.available, count_of(status, "availableReplicas"));
  TRY(out.updated, count_of(status, "updatedReplicas"));
  return ok_status();
}

Status read_scaling(const JsonFields& status, WorldView& out) {
  TRY(const Json* decisions, status.array("decisions", kDecisionsMax));
  if (decisions != nullptr) out.decisions = serving::decisions_from_json(*decisions);
  TRY(const Json* scaling, status.array("scaling", kPodsMax));
  for (std::size_t i = 0; scaling != nullptr && i < scaling->size(); ++i) {
    if ((*scaling)[i].is_string()) out.scaling.push_back((*scaling)[i].get<std::string>());
  }
  return ok_status();
}

Status read_status(const JsonFields& status, WorldView& out) {
  TRY(out.endpoint, text_of(status, "endpoint"));
  TRY(out.target_revision, text_of(status, "targetRevision"));
  TRY_OK(read_counts(status, out.counts));
  TRY(const Json* pods, status.array("pods", kPodsMax));
  for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
    TRY(PodView pod, pod_from_json((*pods)[i], "status.pods[" + std::to_string(i) + "]"));
    out.pods.push_back(std::move(pod));
  }
  TRY(const Json* conditions, status.array("conditions", 64));
  for (std::size_t i = 0; conditions != nullptr && i < conditions->size(); ++i) {
    TRY(ConditionView condition,
        condition_from_json((*conditions)[i], "status.conditions[" + std::to_string(i) + "]"));
    out.conditions.push_back(std::move(condition));
  }
  return read_scaling(status, out);
}

}  // namespace

serving::ConditionStatus WorldView::status_of(std::string_view type) const {
  for (const ConditionView& view : conditions) {
    if (view.condition.type == type) return view.condition.status;
  }
  return serving::ConditionStatus::kUnknown;
}

std::string WorldView::message_of(std::string_view type) const {
  for (const ConditionView& view : conditions) {
    if (view.condition.type == type) return view.condition.message;
  }
  return {};
}

PodView pod_view(const PodFacts& facts, TimePoint now) {
  PodView out;
  out.name = facts.name;
  out.phase = phase_word(facts, now);
  const serving::ObservedPod seen = observe(facts, now);
  out.message = seen.message;
  out.restarts = facts.noded_restarts;
  out.streams = seen.streams.value_or(0);
  if (!seen.revision.empty()) out.revision = serving::short_revision(seen.revision);
  if (!facts.state) return out;
  const noded::PodState& state = *facts.state;
  out.restarts += state.engine_restarts;
  out.pid = state.engine_pid;
  if (state.kv_blocks_total > 0) {
    out.kv_used =
        static_cast<double>(state.kv_blocks_active) / static_cast<double>(state.kv_blocks_total);
  }
  out.tokens_per_second = state.tokens_per_second;
  return out;
}

Json status_json(const WorldView& view, std::int64_t generation) {
  Json conditions = Json::array();
  for (const ConditionView& entry : view.conditions) {
    const serving::Condition& condition = entry.condition;
    conditions.push_back({{"type", condition.type},
                          {"status", serving::condition_status_name(condition.status)},
                          {"reason", condition.reason},
                          {"message", condition.message},
                          {"observedGeneration", condition.observed_generation},
                          {"lastTransitionTime", entry.since}});
  }
  Json pods = Json::array();
  for (const PodView& pod : view.pods) pods.push_back(pod_json(pod));
  return {{"observedGeneration", generation},
          {"replicas", view.counts.existing},
          {"readyReplicas", view.counts.ready},
          {"availableReplicas", view.counts.available},
          {"updatedReplicas", view.counts.updated},
          {"targetRevision", view.target_revision},
          {"conditions", conditions},
          {"endpoint", view.endpoint},
          {"pods", pods},
          {"decisions", serving::decisions_json(view.decisions)},
          {"scaling", view.scaling}};
}

Result<WorldView> world_view_from_json(const Json& object) {
  const JsonFields root(object, "");
  TRY_OK(root.check_object());
  WorldView out;
  TRY(const auto metadata, root.object("metadata"));
  if (metadata) {
    TRY(out.name, text_of(*metadata, "name"));
  }
  TRY(const auto spec, root.object("spec"));
  if (spec) {
    TRY(out.counts.wanted, count_of(*spec, "replicas"));
    TRY(const auto model, spec->object("model"));
    if (model) {
      TRY(out.model, text_of(*model, "name"));
    }
  }
  if (out.model.empty()) out.model = out.name;
  TRY(const auto status, root.object("status"));
  if (status) TRY_OK(read_status(*status, out));
  return out;
}

std::string rfc3339(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

}  // namespace kantha::local
