#include "noded/engine/golden_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kPromptsMax = 64;
constexpr std::int64_t kTokensMax = 1024;
constexpr std::int64_t kTimeoutSecondsMax = 600;
constexpr std::int64_t kTokenMax = std::int64_t{1} << 30;
constexpr std::size_t kShownBytes = 120;
constexpr double kToleranceMax = 10;

Result<std::vector<TokenId>> token_ids_from(const Json& list, const std::string& path) {
  std::vector<TokenId> out;
  for (const Json& id : list) {
    const bool fine = id.is_number_integer() && id.get<std::int64_t>() >= 0 &&
                      id.get<std::int64_t>() <= kTokenMax;
    if (!fine) return invalid_argument("expected token ids", path);
    out.push_back(id.get<TokenId>());
  }
  return out;
}

Status read_logprobs(const JsonFields& fields, const std::string& path, GoldenPrompt& out) {
  TRY(const auto tolerance, fields.number("logprob_tolerance", 0.0, kToleranceMax));
  out.logprob_tolerance = tolerance.value_or(out.logprob_tolerance);
  TRY(const Json* list, fields.array("logprobs", kTokensMax));
  if (list == nullptr) return ok_status();
  for (const Json& value : *list) {
    if (!value.is_number() || value.get<double>() > 0) {
      return invalid_argument("expected log-probabilities", path + ".logprobs");
    }
    out.logprobs.push_back(value.get<double>());
  }
  if (!out.token_ids || out.logprobs.size() != out.token_ids->size()) {
    return invalid_argument("expected one for each of token_ids", path + ".logprobs");
  }
  return ok_status();
}

Result<GoldenPrompt> prompt_from(const Json& json, const std::string& path) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  GoldenPrompt out;
  TRY(auto prompt, fields.string("prompt"));
  if (!prompt || prompt->empty()) return invalid_argument("is required", path + ".prompt");
  out.prompt = *std::move(prompt);
  TRY(const auto max_tokens, fields.integer("max_tokens", 1, kTokensMax));
  out.max_tokens = max_tokens.value_or(out.max_tokens);
  TRY(const Json* ids, fields.array("token_ids", kTokensMax));
  if (ids != nullptr) {
    TRY(out.token_ids, token_ids_from(*ids, path + ".token_ids"));
  }
  TRY(out.text, fields.string("text"));
  if (out.text.has_value() == out.token_ids.has_value()) {
    return invalid_argument("expected exactly one of token_ids and text", path);
  }
  TRY_OK(read_logprobs(fields, path, out));
  return out;
}

/// The first choice of a whole answer; an empty object when there is none.
const Json& choice_of(const Json& answer) {
  static const Json kNone = Json::object();
  const auto choices = answer.find("choices");
  const bool has_one = choices != answer.end() && choices->is_array() && !choices->empty() &&
                       (*choices)[0].is_object();
  return has_one ? (*choices)[0] : kNone;
}

std::optional<std::vector<TokenId>> answered_ids(const Json& choice) {
  const auto vendor = choice.find("kantha");
  if (vendor == choice.end() || !vendor->is_object()) return std::nullopt;
  const auto list = vendor->find("token_ids");
  if (list == vendor->end() || !list->is_array()) return std::nullopt;
  const auto ids = token_ids_from(*list, "");
  return ids.ok() ? std::optional(*ids) : std::nullopt;
}

std::optional<std::string> answered_text(const Json& choice) {
  const auto text = choice.find("text");
  if (text == choice.end() || !text->is_string()) return std::nullopt;
  return text->get<std::string>();
}

/// The numbers of choices[0].logprobs.token_logprobs; nothing when they are not all there.
std::optional<std::vector<double>> answered_logprobs(const Json& choice) {
  const auto scores = choice.find("logprobs");
  if (scores == choice.end() || !scores->is_object()) return std::nullopt;
  const auto list = scores->find("token_logprobs");
  if (list == scores->end() || !list->is_array()) return std::nullopt;
  std::vector<double> out;
  for (const Json& value : *list) {
    if (!value.is_number()) return std::nullopt;
    out.push_back(value.get<double>());
  }
  return out;
}

std::string shown(const std::vector<TokenId>& ids) {
  std::string out = "[";
  for (const TokenId id : ids) {
    if (out.size() > kShownBytes) return out + ", …]";
    out += (out.size() > 1 ? ", " : "") + std::to_string(id);
  }
  return out + "]";
}

std::string shown(const std::string& text) { return dump_json(Json(text.substr(0, kShownBytes))); }

template <class T>
std::string difference(const T& expected, const std::optional<T>& got, const char* what) {
  if (!got) return std::string("the answer has no ") + what;
  if (*got == expected) return {};
  return "expected " + shown(expected) + ", got " + shown(*got);
}

/// The first log-probability that is too far from what it must be; tokens are equal.
std::string logprob_difference(const GoldenPrompt& prompt, const Json& choice) {
  if (prompt.logprobs.empty()) return {};
  const auto got = answered_logprobs(choice);
  if (!got || got->size() != prompt.logprobs.size()) return "the answer has no log-probabilities";
  for (std::size_t i = 0; i < got->size(); ++i) {
    const double off = std::abs((*got)[i] - prompt.logprobs[i]);
    if (off <= prompt.logprob_tolerance) continue;
    return "log-probability of token " + std::to_string(i + 1) + ": expected " +
           dump_json(Json(prompt.logprobs[i])) + ", got " + dump_json(Json((*got)[i])) +
           ", tolerance " + dump_json(Json(prompt.logprob_tolerance));
  }
  return {};
}

}  // namespace

Result<GoldenSet> golden_set_from_json(std::string_view text) {
  TRY(const Json json, parse_json(text));
  const JsonFields fields(json, "");
  TRY_OK(fields.check_object());
  GoldenSet out;
  TRY(const auto timeout, fields.integer("timeout_seconds", 1, kTimeoutSecondsMax));
  if (timeout) out.timeout = std::chrono::seconds(*timeout);
  TRY(const Json* prompts, fields.array("prompts", kPromptsMax));
  if (prompts == nullptr || prompts->empty()) {
    return invalid_argument("expected 1 to 64 prompts", "prompts");
  }
  for (std::size_t i = 0; i < prompts->size(); ++i) {
    TRY(GoldenPrompt prompt, prompt_from((*prompts)[i], "prompts[" + std::to_string(i) + "]"));
    out.prompts.push_back(std::move(prompt));
  }
  return out;
}

std::string golden_request(const GoldenPrompt& prompt, const std::string& model) {
  Json body = {{"model", model},
               {"prompt", prompt.prompt},
               {"max_tokens", prompt.max_tokens},
               {"temperature", 0},
               {"kantha", {{"return_token_ids", true}}}};
  if (!prompt.logprobs.empty()) body["logprobs"] = 0;
  return dump_json(body);
}

std::string golden_difference(const GoldenPrompt& prompt, int status, std::string_view body) {
  constexpr int kOk = 200;
  if (status != kOk) return "HTTP " + std::to_string(status);
  const Result<Json> answer = parse_json(body);
  if (!answer.ok() || !answer->is_object()) return "the answer is no JSON object";
  const Json& choice = choice_of(*answer);
  if (prompt.token_ids) {
    std::string other = difference(*prompt.token_ids, answered_ids(choice), "kantha.token_ids");
    return other.empty() ? logprob_difference(prompt, choice) : other;
  }
  return difference(*prompt.text, answered_text(choice), "text");
}

}  // namespace kantha::noded
