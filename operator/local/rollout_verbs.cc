#include "operator/local/rollout_verbs.h"

#include <utility>

namespace kantha::local {
namespace {

constexpr std::size_t kTextMax = 256;

Status only(const Json& json, const char* name, const char* path) {
  if (!json.is_object()) return invalid_argument("expected an object", path);
  for (const auto& [key, value] : json.items()) {
    if (key != name) {
      return invalid_argument("only " + std::string(name) + " can be patched; edit the file for " +
                                  key.substr(0, kTextMax),
                              path);
    }
  }
  return json.empty() ? Status(invalid_argument("is required", name)) : ok_status();
}

Status read_text(const Json& value, const std::string& name, std::optional<std::string>& out) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > kTextMax) {
    return invalid_argument("expected a text of at most 256 bytes", "spec.rollout." + name);
  }
  out = value.get<std::string>();
  return ok_status();
}

}  // namespace

Status RolloutVerbs::take(const Json& patch) {
  TRY_OK(only(patch, "spec", "spec"));
  TRY_OK(only(patch["spec"], "rollout", "spec.rollout"));
  const Json& rollout = patch["spec"]["rollout"];
  if (!rollout.is_object()) return invalid_argument("expected an object", "spec.rollout");
  RolloutVerbs next = *this;
  for (const auto& [name, value] : rollout.items()) {
    if (name == "paused" && value.is_boolean()) {
      next.paused_ = value.get<bool>();
    } else if (name == "abort") {
      TRY_OK(read_text(value, name, next.abort_));
    } else if (name == "promote") {
      TRY_OK(read_text(value, name, next.promote_));
    } else {
      return invalid_argument("expected paused (a boolean), abort or promote; edit the file for " +
                                  name.substr(0, kTextMax),
                              "spec.rollout");
    }
  }
  *this = std::move(next);
  return ok_status();
}

void RolloutVerbs::file_says(bool paused) {
  if (file_paused_ && *file_paused_ != paused) paused_.reset();
  file_paused_ = paused;
}

void RolloutVerbs::apply(serving::RolloutSpec& rollout) const {
  if (paused_) rollout.paused = *paused_;
  if (abort_) rollout.abort = *abort_;
  if (promote_) rollout.promote = *promote_;
}

}  // namespace kantha::local
