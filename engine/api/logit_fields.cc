#include "engine/api/logit_fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/api/generation_fields.h"

namespace kantha::api {
namespace {

constexpr std::size_t kBiasesMax = 1024;
constexpr double kBiasMax = 100;
constexpr std::size_t kBadWordsMax = 128;
constexpr std::size_t kBadWordBytesMax = 256;

/// A key of logit_bias, which is a token id as OpenAI writes it: decimal digits in a string.
Result<TokenId> read_key(const std::string& key, const std::string& path,
                         const RequestLimits& limits) {
  std::int64_t id = -1;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, id);
  if (error == std::errc() && stop == end && id >= 0 && id < limits.vocabulary_size) {
    return static_cast<TokenId>(id);
  }
  const std::string shown =
      Json(key.substr(0, 32)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return invalid_argument(path + ": expected token ids in [0, " +
                              std::to_string(limits.vocabulary_size) + ") as keys, got " + shown,
                          path);
}

Result<std::vector<LogitBias>> read_bias(const JsonFields& fields, const RequestLimits& limits) {
  std::vector<LogitBias> biases;
  TRY(const auto object, fields.object("logit_bias"));
  if (!object) return biases;
  const std::string path = fields.path_of("logit_bias");
  const Json& json = *fields.find("logit_bias");
  if (json.size() > kBiasesMax) {
    return invalid_argument(path + ": expected at most " + std::to_string(kBiasesMax) +
                                " entries, got " + std::to_string(json.size()),
                            path);
  }
  for (const auto& [key, value] : json.items()) {
    TRY(const TokenId token, read_key(key, path, limits));
    const std::string place = path + "." + std::to_string(token);
    if (!value.is_number()) return wrong_type(place, "a number", value);
    const double bias = value.get<double>();
    // Written so that NaN fails.
    if (!(bias >= -kBiasMax && bias <= kBiasMax)) {
      return invalid_argument(place + ": expected a number in [-100, 100], got " + value.dump(),
                              place);
    }
    biases.push_back({.token = token, .bias = bias});
  }
  std::ranges::sort(biases, {}, &LogitBias::token);
  // "7" and "07" are one token.
  const auto twice = std::ranges::adjacent_find(biases, {}, &LogitBias::token);
  if (twice == biases.end()) return biases;
  return invalid_argument(path + ": token " + std::to_string(twice->token) + " is there twice",
                          path);
}

Result<std::vector<std::string>> read_bad_words(const JsonFields& fields) {
  TRY(auto words, fields.strings("bad_words", kBadWordsMax));
  if (!words) return std::vector<std::string>();
  for (std::size_t i = 0; i < words->size(); ++i) {
    const std::size_t bytes = (*words)[i].size();
    if (bytes >= 1 && bytes <= kBadWordBytesMax) continue;
    const std::string path = fields.path_of("bad_words") + "[" + std::to_string(i) + "]";
    return invalid_argument(path + ": expected 1 to 256 bytes, got " + std::to_string(bytes), path);
  }
  return *std::move(words);
}

Result<std::vector<TokenId>> read_allowed(const JsonFields& fields, const RequestLimits& limits) {
  const auto count_max = static_cast<std::size_t>(std::max(limits.vocabulary_size, 0));
  TRY(auto ids, read_token_ids(fields, "allowed_token_ids", count_max, limits));
  const std::string path = fields.path_of("allowed_token_ids");
  if (ids.empty() && fields.find("allowed_token_ids") != nullptr) {
    return invalid_argument(path + ": expected at least one token id, got none", path);
  }
  std::ranges::sort(ids);
  const auto rest = std::ranges::unique(ids);
  ids.erase(rest.begin(), rest.end());
  return ids;
}

void assign(double& target, const std::optional<double>& value) {
  if (value) target = *value;
}

}  // namespace

Result<LogitFields> read_logit_fields(const JsonFields& fields, const RequestLimits& limits) {
  LogitFields read;
  TRY(const auto repetition, fields.number("repetition_penalty", 0.01, 100));
  assign(read.repetition_penalty, repetition);
  TRY(const auto presence, fields.number("presence_penalty", -2, 2));
  assign(read.presence_penalty, presence);
  TRY(const auto frequency, fields.number("frequency_penalty", -2, 2));
  assign(read.frequency_penalty, frequency);
  TRY(read.bias, read_bias(fields, limits));
  TRY(read.allowed, read_allowed(fields, limits));
  TRY(read.bad_words, read_bad_words(fields));
  return read;
}

}  // namespace kantha::api
