#include "noded/api/golden_state.h"

#include <limits>

#include "base/json_fields.h"

namespace kantha::noded {

Json to_json(const GoldenState& state) {
  return {{"done", state.done},
          {"prompts", state.prompts},
          {"failed", state.failed},
          {"message", state.message}};
}

Result<GoldenState> golden_state_from_json(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  GoldenState out;
  TRY(const auto done, fields.boolean("done"));
  TRY(const auto prompts, fields.integer("prompts", 0, kMax));
  TRY(const auto failed, fields.integer("failed", 0, kMax));
  TRY(auto message, fields.string("message"));
  out.done = done.value_or(false);
  out.prompts = prompts.value_or(0);
  out.failed = failed.value_or(0);
  out.message = std::move(message).value_or("");
  return out;
}

}  // namespace kantha::noded
