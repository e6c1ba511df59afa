#include "engine/api/reasoning_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/api/generation_fields.h"

namespace kantha::api {
namespace {

Status read_effort(const JsonFields& fields, ReasoningFields& request) {
  static constexpr std::array<std::string_view, 7> kEfforts{"none", "minimal", "low", "medium",
                                                            "high", "xhigh",   "max"};
  TRY(request.effort, fields.string("reasoning_effort"));
  if (!request.effort) return ok_status();
  if (std::ranges::find(kEfforts, *request.effort) != kEfforts.end()) return ok_status();
  const std::string path = fields.path_of("reasoning_effort");
  return invalid_argument(path + ": expected none, minimal, low, medium, high, xhigh or max, got " +
                              dump_json(Json(request.effort->substr(0, 64))),
                          path);
}

Status read_budget(const JsonFields& fields, std::int32_t context_max, ReasoningFields& request) {
  TRY(const auto general, fields.integer("thinking_token_budget", 0, context_max));
  std::optional<std::int64_t> chosen = general;
  TRY(const auto ours, fields.object("kantha"));
  if (ours) {
    TRY(const auto own, ours->integer("reasoning_tokens", 0, context_max));
    if (own && general && *own != *general) {
      const std::string path = ours->path_of("reasoning_tokens");
      return invalid_argument(path + ": differs from thinking_token_budget", path);
    }
    if (own) chosen = own;
  }
  if (chosen) request.tokens_max = static_cast<std::int32_t>(*chosen);
  return ok_status();
}

}  // namespace

Result<ReasoningFields> read_reasoning_fields(const JsonFields& fields, std::int32_t context_max) {
  ReasoningFields request;
  TRY_OK(read_effort(fields, request));
  TRY_OK(read_budget(fields, context_max, request));
  TRY(const auto included, fields.boolean("include_reasoning"));
  request.included = included.value_or(true);
  return request;
}

}  // namespace kantha::api
