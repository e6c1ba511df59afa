#include "engine/api/generation_fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/api/openai_error.h"
#include "engine/api/output_format.h"

namespace kantha::api {
namespace {

constexpr std::size_t kStopStringsMax = 16;
constexpr std::size_t kStopBytesMax = 1024;
constexpr std::size_t kStopTokensMax = 64;
constexpr std::size_t kSaltBytesMax = 256;
constexpr std::int64_t kPromptLogprobsMax = 20;
constexpr std::size_t kTenantBytesMax = 128;
constexpr std::int64_t kTimeoutMsMax = 86'400'000;
constexpr auto kReplace = Json::error_handler_t::replace;

std::string item_path(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

/// Value of an optional field, or what it already was.
template <class T, class U>
void assign(T& target, const std::optional<U>& value) {
  if (value) target = static_cast<T>(*value);
}

Status check_stop(const std::string& text, const std::string& path) {
  if (text.empty()) {
    return invalid_argument(path + ": expected a string that is not empty", path);
  }
  if (text.size() <= kStopBytesMax) return ok_status();
  return invalid_argument(
      path + ": expected at most 1024 bytes, got " + std::to_string(text.size()), path);
}

Result<std::vector<std::string>> read_stop(const JsonFields& fields) {
  const std::string path = fields.path_of("stop");
  std::vector<std::string> stop;
  const Json* value = fields.find("stop");
  if (value == nullptr) return stop;
  if (value->is_string()) {
    stop.push_back(value->get<std::string>());
    TRY_OK(check_stop(stop.front(), path));
    return stop;
  }
  if (!value->is_array()) return wrong_type(path, "a string or an array of strings", *value);
  if (value->size() > kStopStringsMax) {
    return invalid_argument(
        path + ": expected at most 16 strings, got " + std::to_string(value->size()), path);
  }
  for (const Json& item : *value) {
    const std::string place = item_path(path, stop.size());
    if (!item.is_string()) return wrong_type(place, "a string", item);
    stop.push_back(item.get<std::string>());
    TRY_OK(check_stop(stop.back(), place));
  }
  return stop;
}

Status read_sampling(const JsonFields& fields, GenerationFields& request) {
  TRY(const auto temperature, fields.number("temperature", 0, 2));
  assign(request.temperature, temperature);
  TRY(const auto top_p, fields.number("top_p", 0, 1));
  assign(request.top_p, top_p);
  constexpr auto kTopKMax = std::numeric_limits<std::int32_t>::max();
  TRY(const auto top_k, fields.integer("top_k", -1, kTopKMax));
  if (top_k && *top_k > 0) request.top_k = static_cast<std::int32_t>(*top_k);
  TRY(const auto min_p, fields.number("min_p", 0, 1));
  assign(request.min_p, min_p);
  if (request.min_p >= 1) {
    const std::string path = fields.path_of("min_p");
    return invalid_argument(path + ": expected a number in [0, 1), got 1", path);
  }
  TRY(const auto typical_p, fields.number("typical_p", 0, 1));
  assign(request.typical_p, typical_p);
  if (request.typical_p <= 0) {
    const std::string path = fields.path_of("typical_p");
    return invalid_argument(path + ": expected a number in (0, 1], got 0", path);
  }
  TRY(request.seed, fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max()));
  return ok_status();
}

Status read_stopping(const JsonFields& fields, const RequestLimits& limits,
                     GenerationFields& request) {
  TRY(request.stop, read_stop(fields));
  TRY(const auto include_stop, fields.boolean("include_stop_str_in_output"));
  assign(request.include_stop, include_stop);
  TRY(request.stop_token_ids, read_token_ids(fields, "stop_token_ids", kStopTokensMax, limits));
  TRY(const auto ignore_eos, fields.boolean("ignore_eos"));
  assign(request.ignore_eos, ignore_eos);
  TRY(const auto min_tokens, fields.integer("min_tokens", 0, limits.context_max));
  assign(request.min_tokens, min_tokens);
  return ok_status();
}

Status read_streaming(const JsonFields& fields, GenerationFields& request) {
  TRY(const auto stream, fields.boolean("stream"));
  assign(request.stream, stream);
  TRY(const auto options, fields.object("stream_options"));
  if (!options) return ok_status();
  const std::string path = fields.path_of("stream_options");
  if (!request.stream) {
    return invalid_argument(path + ": only allowed when stream is true", path);
  }
  TRY(const auto include_usage, options->boolean("include_usage"));
  assign(request.include_usage, include_usage);
  TRY(const auto obfuscation, options->boolean("include_obfuscation"));
  TRY(const auto continuous, options->boolean("continuous_usage_stats"));
  if (!continuous.value_or(false) && !obfuscation.value_or(false)) return ok_status();
  const std::string wish =
      path + (continuous.value_or(false) ? ".continuous_usage_stats" : ".include_obfuscation");
  Error error = unimplemented(wish + ": not supported yet", wish);
  error.reason = kReasonUnsupported;
  return error;
}

/// A string of at most `bytes_max` bytes.
Result<std::string> read_short(const JsonFields& fields, std::string_view name,
                               std::size_t bytes_max) {
  TRY(auto text, fields.string(name));
  if (!text) return std::string();
  if (text->size() <= bytes_max) return *std::move(text);
  const std::string path = fields.path_of(name);
  return invalid_argument(path + ": expected at most " + std::to_string(bytes_max) +
                              " bytes, got " + std::to_string(text->size()),
                          path);
}

/// How many samples are made and kept.
Status read_samples(const JsonFields& fields, GenerationFields& request) {
  TRY(const auto n, fields.integer("n", 1, kSamplesMax));
  assign(request.n, n);
  TRY(const auto best_of, fields.integer("best_of", 1, kSamplesMax));
  request.best_of = request.n;
  assign(request.best_of, best_of);
  const std::string path = fields.path_of("best_of");
  if (request.best_of < request.n) {
    return invalid_argument(path + ": expected at least n (" + std::to_string(request.n) +
                                "), got " + std::to_string(request.best_of),
                            path);
  }
  if (request.best_of == request.n || !request.stream) return ok_status();
  return invalid_argument(path + ": expected n (" + std::to_string(request.n) +
                              ") when stream is true, got " + std::to_string(request.best_of) +
                              ": which are best is known at the end",
                          path);
}

/// What is told of the prompt itself.
Status read_prompt_logprobs(const JsonFields& fields, GenerationFields& request) {
  TRY(const auto count, fields.integer("prompt_logprobs", 0, kPromptLogprobsMax));
  assign(request.prompt_logprobs, count);
  if (!count || !request.stream) return ok_status();
  const std::string path = fields.path_of("prompt_logprobs");
  return invalid_argument(path + ": only allowed when stream is false", path);
}

/// The request's place among others.
Status read_place(const JsonFields& fields, GenerationFields& request) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  TRY(const auto priority, fields.integer("priority", kMin, kMax));
  assign(request.priority, priority);
  TRY(request.cache_salt, read_short(fields, "cache_salt", kSaltBytesMax));
  TRY(const auto tier, fields.string("service_tier"));
  if (tier == "flex") request.slo = SloClass::kBatch;
  return ok_status();
}

Status read_class(const JsonFields& ours, GenerationFields& request) {
  TRY(const auto name, ours.string("class"));
  if (!name) return ok_status();
  if (*name == "interactive") {
    request.slo = SloClass::kInteractive;
  } else if (*name == "agent") {
    request.slo = SloClass::kAgent;
  } else if (*name == "batch") {
    request.slo = SloClass::kBatch;
  } else {
    const std::string path = ours.path_of("class");
    return invalid_argument(path + ": expected interactive, agent or batch, got " +
                                Json(name->substr(0, 64)).dump(-1, ' ', false, kReplace),
                            path);
  }
  return ok_status();
}

Status read_resume(const JsonFields& ours, const RequestLimits& limits, GenerationFields& request) {
  TRY(const auto resume, ours.object("resume"));
  if (!resume) return ok_status();
  TRY_OK(resume->check_known({"token_ids"}));
  const auto count_max = static_cast<std::size_t>(limits.context_max);
  TRY(request.vendor.resumed_token_ids, read_token_ids(*resume, "token_ids", count_max, limits));
  if (request.best_of == 1) return ok_status();
  const std::string path = ours.path_of("resume");
  const std::string got = request.n > 1 ? "n " + std::to_string(request.n)
                                        : "best_of " + std::to_string(request.best_of);
  return invalid_argument(path + ": only allowed when n is 1, got " + got, path);
}

/// Unknown keys are refused here, unlike at the root: these fields are ours, so a name that we do
/// not know is a mistake or a newer front door's wish that we would silently not grant.
Status read_vendor(const JsonFields& fields, const RequestLimits& limits,
                   GenerationFields& request) {
  TRY(const auto ours, fields.object("kantha"));
  if (!ours) return ok_status();
  TRY_OK(ours->check_known(
      {"resume", "return_token_ids", "tenant", "class", "timeout_ms", "reasoning_tokens"}));
  VendorFields& vendor = request.vendor;
  TRY(const auto return_token_ids, ours->boolean("return_token_ids"));
  assign(vendor.return_token_ids, return_token_ids);
  TRY(vendor.tenant, read_short(*ours, "tenant", kTenantBytesMax));
  TRY(vendor.timeout_ms, ours->integer("timeout_ms", 1, kTimeoutMsMax));
  TRY_OK(read_class(*ours, request));
  return read_resume(*ours, limits, request);
}

}  // namespace

Error wrong_type(const std::string& path, std::string_view expected, const Json& got) {
  std::string message = path + ": expected ";
  message.append(expected).append(", got ").append(json_type_name(got));
  return invalid_argument(std::move(message), path);
}

Error missing_field(const std::string& path) {
  Error error = invalid_argument(path + ": required", path);
  error.reason = kReasonMissing;
  return error;
}

Status check_min_tokens(const JsonFields& fields, const GenerationFields& request) {
  if (!request.max_tokens || request.min_tokens <= *request.max_tokens) return ok_status();
  const std::string path = fields.path_of("min_tokens");
  return invalid_argument(path + ": expected at most max_tokens (" +
                              std::to_string(*request.max_tokens) + "), got " +
                              std::to_string(request.min_tokens),
                          path);
}

Result<TokenId> read_token_id(const Json& json, const std::string& path,
                              const RequestLimits& limits) {
  if (!json.is_number_integer()) return wrong_type(path, "a token id (an integer)", json);
  // An unsigned beyond int64 would wrap in get<int64>, so it is compared as what it is.
  const bool fits =
      json.is_number_unsigned()
          ? json.get<std::uint64_t>() <
                static_cast<std::uint64_t>(std::max(limits.vocabulary_size, 0))
          : json.get<std::int64_t>() >= 0 && json.get<std::int64_t>() < limits.vocabulary_size;
  if (fits) return static_cast<TokenId>(json.get<std::int64_t>());
  return invalid_argument(path + ": expected a token id in [0, " +
                              std::to_string(limits.vocabulary_size) + "), got " + json.dump(),
                          path);
}

Result<std::vector<TokenId>> read_token_ids(const JsonFields& fields, std::string_view name,
                                            std::size_t count_max, const RequestLimits& limits) {
  std::vector<TokenId> ids;
  TRY(const Json* const array, fields.array(name, count_max));
  if (array == nullptr) return ids;
  ids.reserve(array->size());
  const std::string path = fields.path_of(name);
  for (const Json& item : *array) {
    TRY(const TokenId id, read_token_id(item, item_path(path, ids.size()), limits));
    ids.push_back(id);
  }
  return ids;
}

Result<GenerationFields> read_generation_fields(const JsonFields& fields,
                                                const RequestLimits& limits) {
  GenerationFields request;
  TRY(const auto model, fields.string("model"));
  assign(request.model, model);
  TRY_OK(read_sampling(fields, request));
  TRY(request.logits, read_logit_fields(fields, limits));
  TRY_OK(read_stopping(fields, limits, request));
  TRY_OK(read_streaming(fields, request));
  TRY_OK(read_samples(fields, request));
  TRY_OK(read_prompt_logprobs(fields, request));
  TRY_OK(read_place(fields, request));
  TRY(request.output, read_output_format(fields));
  TRY_OK(read_vendor(fields, limits, request));
  return request;
}

}  // namespace kantha::api
