#include "cli/rollout_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_text.h"
#include "operator/serving/timestamp.h"

namespace kantha::cli {
namespace {

const Json& at(const Json& json, const char* name) {
  static const Json kNothing = Json::object();
  if (!json.is_object()) return kNothing;
  const auto found = json.find(name);
  return found == json.end() ? kNothing : *found;
}

const Json& rollout_of(const Json& object) { return at(at(object, "status"), "rollout"); }

std::int64_t number_at(const Json& json, const char* name) {
  const Json& value = at(json, name);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

/// The target's short name: its key without the digest of its pods.
std::string target_of(const Json& object) {
  const std::string key = text_at(rollout_of(object), "target");
  return key.substr(0, key.find('.'));
}

bool is_under_way(const Json& object) {
  const std::string phase = text_at(rollout_of(object), "phase");
  return phase == "Waiting" || phase == "Preparing" || phase == "Swapping" || phase == "Baking" ||
         phase == "Paused";
}

std::string size_text(const Json& size) {
  return size.is_string() ? size.get<std::string>() : size.dump();
}

/// "canary (1) > *half (50%)* > all (100%)", the ring at work marked.
std::string rings_text(const Json& object) {
  const Json& rings = at(at(at(object, "spec"), "rollout"), "rings");
  if (!rings.is_array() || rings.empty()) return "none: all pods, one after another";
  const std::string now = text_at(rollout_of(object), "ring");
  std::string out;
  for (const Json& ring : rings) {
    const std::string name = text_at(ring, "name");
    const std::string text = name + " (" + size_text(at(ring, "size")) + ")";
    out += (out.empty() ? "" : " > ") + (name == now ? "*" + text + "*" : text);
  }
  return out;
}

std::string duration_text(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 120 * 60) return fmt::format("{} min", (seconds + 59) / 60);
  return fmt::format("{:.1f} h", static_cast<double>(seconds) / 3600);
}

/// "at least 12 min: 2 more rings after this one": bakes alone, for how long pods take to change is
/// theirs.
std::string eta_text(const Json& object, WallTime now) {
  const Json& rollout = rollout_of(object);
  const Json& spec = at(at(object, "spec"), "rollout");
  const Json& rings = at(spec, "rings");
  const std::string phase = text_at(rollout, "phase");
  const bool at_work = phase == "Preparing" || phase == "Swapping" || phase == "Baking";
  if (!at_work || !rings.is_array()) return {};
  std::int64_t after = 0;
  bool found = false;
  for (const Json& ring : rings) {
    after += found ? 1 : 0;
    found = found || text_at(ring, "name") == text_at(rollout, "ring");
  }
  if (!found) return {};
  const std::int64_t bake = number_at(at(spec, "bake"), "seconds");
  std::int64_t left = bake;
  const auto since = serving::timestamp_from_text(text_at(rollout, "startedAt"));
  if (phase == "Baking" && since) {
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(now - *since).count();
    left = std::max<std::int64_t>(0, bake * (1 + number_at(rollout, "extensions")) - passed);
  }
  return fmt::format("at least {}: {} more ring{} after this one",
                     duration_text(left + after * bake), after, after == 1 ? "" : "s");
}

std::string gate_text(const Json& object) {
  const Json& conditions = at(at(object, "status"), "conditions");
  if (!conditions.is_array()) return "unknown";
  for (const Json& condition : conditions) {
    if (text_at(condition, "type") != "RolloutGated") continue;
    const bool held = text_at(condition, "status") == "True";
    return (held ? "held, " : "open, ") + text_at(condition, "reason") + ": " +
           text_at(condition, "message");
  }
  return "unknown";
}

std::string line(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format("{:<10}{}\n", name, value);
}

Error nothing_to(const std::string& what, const Json& object) {
  const std::string phase = text_at(rollout_of(object), "phase");
  return {Code::kFailedPrecondition, "there is nothing to " + what + ": the rollout is " +
                                         (phase.empty() ? "unknown" : phase)};
}

Json field(const char* name, Json value) {
  return {{"spec", {{"rollout", {{name, std::move(value)}}}}}};
}

Result<Json> undo_patch(const Json& object, bool is_local) {
  if (is_under_way(object)) return field("abort", target_of(object));
  const std::string older = text_at(rollout_of(object), "olderSpec");
  if (older.empty()) return nothing_to("undo, and no older revision is known", object);
  if (is_local) {
    return Error{Code::kFailedPrecondition,
                 "in a world of this machine the file decides; put the older spec there"};
  }
  TRY(Json spec, parse_json(older));
  // A merge leaves what it does not name: of the sources only one may stay.
  for (const char* source : {"hostPath", "pvc", "http", "image"}) {
    Json& sources = spec["model"]["source"];
    if (!sources.contains(source)) sources[source] = nullptr;
  }
  return Json{{"spec", std::move(spec)}};
}

}  // namespace

std::string rollout_text(const Json& object, WallTime now) {
  const Json& rollout = rollout_of(object);
  const Json& status = at(object, "status");
  const std::string phase = text_at(rollout, "phase");
  std::string out = line("phase", (phase.empty() ? "unknown" : phase) +
                                      (text_at(rollout, "startedAt").empty()
                                           ? std::string()
                                           : " since " + text_at(rollout, "startedAt")));
  out += line("target", text_at(status, "targetRevision"));
  out += line("last good", text_at(rollout, "lastGood"));
  out += line("rings", rings_text(object));
  out += line("pods", fmt::format("{} wanted, {} available, {} on the target",
                                  number_at(at(object, "spec"), "replicas"),
                                  number_at(status, "availableReplicas"),
                                  number_at(status, "updatedReplicas")));
  out += line("verdict", text_at(rollout, "verdict"));
  out += line("gate", gate_text(object));
  out += line("eta", eta_text(object, now));
  return out + line("message", text_at(rollout, "message"));
}

std::string rollout_history(const Json& object) {
  const Json& rollout = rollout_of(object);
  std::string out;
  const auto add = [&](const std::string& revision, const std::string& what) {
    if (!revision.empty()) out += fmt::format("{:<14}{}\n", revision, what);
  };
  const std::string target = target_of(object);
  const std::string good = text_at(rollout, "lastGood");
  if (target != good) add(target, "target, " + text_at(rollout, "phase"));
  add(good, "last good");
  const Result<Json> older = parse_json(text_at(rollout, "olderSpec"));
  if (older.ok()) {
    const std::string image = text_at(at(*older, "engine"), "image");
    add("(before)", "good before that" + (image.empty() ? "" : ", engine " + image));
  }
  if (out.empty()) out = "no revision has run everywhere yet\n";
  const Json& decisions = at(at(object, "status"), "decisions");
  if (!decisions.is_array()) return out;
  for (const Json& made : decisions) {
    if (text_at(made, "kind") != "Rollout") continue;
    out += fmt::format("{}  {}: {}\n", text_at(made, "time"), text_at(made, "reason"),
                       text_at(made, "message"));
  }
  return out;
}

bool rollout_is_over(const Json& object) {
  const std::string phase = text_at(rollout_of(object), "phase");
  return !is_under_way(object) && phase != "RollingBack";
}

Result<Json> rollout_patch(RolloutVerb verb, const Json& object, bool is_local) {
  switch (verb) {
    case RolloutVerb::kPause: return field("paused", true);
    case RolloutVerb::kResume: return field("paused", false);
    case RolloutVerb::kUndo: return undo_patch(object, is_local);
    case RolloutVerb::kAbort:
      if (!is_under_way(object)) return nothing_to("abort", object);
      return field("abort", target_of(object));
    case RolloutVerb::kSkip:
      if (!is_under_way(object)) return nothing_to("skip", object);
      return field("promote", target_of(object) + "/*");
    case RolloutVerb::kPromote: break;
  }
  const std::string phase = text_at(rollout_of(object), "phase");
  if (phase != "Baking" && phase != "Paused") return nothing_to("promote", object);
  return field("promote", target_of(object) + "/" + text_at(rollout_of(object), "ring"));
}

}  // namespace kantha::cli
