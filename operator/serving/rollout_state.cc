#include "operator/serving/rollout_state.h"

#include <array>
#include <utility>

#include "base/json_text.h"
#include "operator/serving/bounded_text.h"
#include "operator/serving/model_serving_from_json.h"
#include "operator/serving/model_serving_to_json.h"
#include "operator/serving/timestamp.h"
#include "operator/serving/validate.h"

namespace kantha::serving {
namespace {

constexpr std::array kPhases = {
    RolloutPhase::kNone,     RolloutPhase::kWaiting,     RolloutPhase::kPreparing,
    RolloutPhase::kSwapping, RolloutPhase::kBaking,      RolloutPhase::kPaused,
    RolloutPhase::kDone,     RolloutPhase::kRollingBack, RolloutPhase::kRolledBack};
constexpr std::int64_t kCountMax = 10'000;
constexpr std::size_t kMessageMax = 1024;

/// What decides on nothing that runs, or belongs to whoever scales.
constexpr std::array kNotOfARevision = {"replicas", "autoscaling", "rollout"};

struct TextField {
  const char* name;
  std::string RolloutState::* member;
};
constexpr std::array kTexts = {TextField{"target", &RolloutState::target},
                               TextField{"lastGood", &RolloutState::last_good},
                               TextField{"goodSpec", &RolloutState::good_spec},
                               TextField{"olderSpec", &RolloutState::older_spec},
                               TextField{"image", &RolloutState::image},
                               TextField{"goodImage", &RolloutState::good_image},
                               TextField{"ring", &RolloutState::ring_name},
                               TextField{"progress", &RolloutState::progress},
                               TextField{"imageWait", &RolloutState::image_wait},
                               TextField{"verdict", &RolloutState::verdict},
                               TextField{"message", &RolloutState::message}};

struct CountField {
  const char* name;
  std::int64_t RolloutState::* member;
};
constexpr std::array kCounts = {CountField{"ringIndex", &RolloutState::ring},
                                CountField{"ringSize", &RolloutState::ring_size},
                                CountField{"extensions", &RolloutState::extensions}};

struct TimeField {
  const char* name;
  WallTime RolloutState::* member;
};
constexpr std::array kTimes = {TimeField{"startedAt", &RolloutState::since},
                               TimeField{"progressAt", &RolloutState::progress_at},
                               TimeField{"imageWaitSince", &RolloutState::image_wait_since}};

}  // namespace

std::string_view rollout_phase_name(RolloutPhase phase) {
  switch (phase) {
    case RolloutPhase::kNone: return "None";
    case RolloutPhase::kWaiting: return "Waiting";
    case RolloutPhase::kPreparing: return "Preparing";
    case RolloutPhase::kSwapping: return "Swapping";
    case RolloutPhase::kBaking: return "Baking";
    case RolloutPhase::kPaused: return "Paused";
    case RolloutPhase::kDone: return "Done";
    case RolloutPhase::kRollingBack: return "RollingBack";
    case RolloutPhase::kRolledBack: return "RolledBack";
  }
  return "?";
}

Json to_json(const RolloutState& state) {
  Json out = {{"phase", rollout_phase_name(state.phase)}};
  for (const TextField& field : kTexts) {
    const std::string& text = state.*field.member;
    if (!text.empty()) out[field.name] = text;
  }
  out["message"] = bounded_text(state.message, kMessageMax);
  for (const CountField& field : kCounts) out[field.name] = state.*field.member;
  for (const TimeField& field : kTimes) {
    if (state.*field.member != WallTime{}) out[field.name] = timestamp_text(state.*field.member);
  }
  return out;
}

RolloutState rollout_state_from_json(const Json& json) {
  RolloutState out;
  if (!json.is_object()) return out;
  const std::string phase = text_at(json, "phase");
  for (const RolloutPhase known : kPhases) {
    if (rollout_phase_name(known) == phase) out.phase = known;
  }
  for (const TextField& field : kTexts) out.*field.member = text_at(json, field.name);
  for (const CountField& field : kCounts) {
    const auto found = json.find(field.name);
    if (found == json.end() || !found->is_number_integer()) continue;
    const auto count = found->get<std::int64_t>();
    if (count >= 0 && count <= kCountMax) out.*field.member = count;
  }
  for (const TimeField& field : kTimes) {
    out.*field.member = timestamp_from_text(text_at(json, field.name)).value_or(WallTime{});
  }
  return out;
}

std::string revision_spec_text(const ModelServing& serving, const std::string& engine_image) {
  Json spec = to_json(serving)["spec"];
  for (const char* name : kNotOfARevision) spec.erase(name);
  spec["engine"]["image"] = engine_image;
  return dump_json(spec);
}

std::optional<ModelServing> with_revision_spec(const ModelServing& serving,
                                               const std::string& text) {
  if (text.empty()) return std::nullopt;
  const Result<Json> parsed = parse_json(text);
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  const Json whole = {{"apiVersion", kApiVersion},
                      {"kind", kKind},
                      {"metadata", {{"name", serving.metadata.name}}},
                      {"spec", *parsed}};
  Problems problems;
  ModelServing out = model_serving_from_json(whole, UnknownFields::kIgnore, problems);
  if (!problems.empty()) return std::nullopt;
  out.metadata = serving.metadata;
  out.spec.replicas = serving.spec.replicas;
  out.spec.autoscaling = serving.spec.autoscaling;
  out.spec.rollout = serving.spec.rollout;
  if (!validate(out).empty()) return std::nullopt;
  return out;
}

}  // namespace kantha::serving
