#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json_fields.h"
#include "base/result.h"
#include "engine/api/logit_fields.h"
#include "engine/grammar/wish.h"

/// The part that chat and text completion requests share. Pure; any thread.
namespace kantha::api {

/// What a request is checked against.
struct RequestLimits {
  std::int32_t vocabulary_size = 0;  ///< token ids are in [0, vocabulary_size)
  std::int32_t context_max = 0;      ///< tokens of prompt + output
};

/// What the client waits for (kantha.class); service_tier "flex" is batch.
enum class SloClass : std::uint8_t { kInteractive, kAgent, kBatch };

/// Most samples of one prompt (n), and most choices of one request.
inline constexpr std::int64_t kSamplesMax = 64;
inline constexpr std::int64_t kChoicesMax = 256;

/// `kantha.*`: our own fields.
struct VendorFields {
  std::string tenant = {};                      ///< ≤ 128 bytes; fair shares are between tenants
  std::optional<std::int64_t> timeout_ms = {};  ///< 1 … 86,400,000 from arrival to the last token
  /// Output tokens that the client already has; generation goes on after them.
  std::vector<TokenId> resumed_token_ids = {};
  /// Chunks and replies carry `kantha.token_ids`, so that a front door can resume elsewhere.
  bool return_token_ids = false;
};

/// Sampling, limits and transport of one generation. All values are within their ranges.
struct GenerationFields {
  std::string model = {};                       ///< empty: the served one
  std::optional<std::int32_t> max_tokens = {};  ///< ≥ 1, with echo ≥ 0; absent: the API's default
  bool max_tokens_clamps = false;  ///< what the window does not hold is taken off max_tokens
  std::int32_t min_tokens = 0;
  double temperature = 1.0;  ///< 0 … 2
  double top_p = 1.0;        ///< 0 … 1; 0 keeps only the best token
  std::int32_t top_k = 0;    ///< 0: all (-1 is accepted as well)
  double min_p = 0.0;        ///< [0, 1)
  double typical_p = 1.0;    ///< (0, 1]
  LogitFields logits = {};
  std::shared_ptr<const grammar::Wish> output = {};  ///< what it must look like; null: anything
  std::optional<std::int64_t> seed = {};
  std::vector<std::string> stop = {};        ///< ≤ 16, not empty, ≤ 1,024 bytes each
  bool include_stop = false;                 ///< include_stop_str_in_output
  std::vector<TokenId> stop_token_ids = {};  ///< ≤ 64
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;         ///< stream_options.include_usage
  std::int32_t logprobs = -1;         ///< -1 none; n ≥ 0: chosen token and the n best
  bool echo = false;                  ///< the prompt is the beginning of the text (text API)
  std::int32_t prompt_logprobs = -1;  ///< -1 none; n ≥ 0: of the prompt's tokens, and the n best
  std::int32_t n = 1;                 ///< answers to each prompt; choices are prompt by prompt
  std::int32_t best_of = 1;           ///< ≥ n: samples of each prompt, of which the n best are kept
  std::int32_t priority = 0;          ///< lower first
  std::string cache_salt = {};        ///< ≤ 256 bytes; others' cached prefixes are never met
  SloClass slo = SloClass::kInteractive;
  VendorFields vendor = {};
};

/// Reads everything but `max_tokens` and `logprobs`, which the two APIs spell differently. The
/// first bad field is the error.
Result<GenerationFields> read_generation_fields(const JsonFields& fields,
                                                const RequestLimits& limits);

/// Error when `min_tokens` is above a `max_tokens` that the client gave.
Status check_min_tokens(const JsonFields& fields, const GenerationFields& request);

/// An array of token ids within the vocabulary; absent: empty. The error names the entry.
Result<std::vector<TokenId>> read_token_ids(const JsonFields& fields, std::string_view name,
                                            std::size_t count_max, const RequestLimits& limits);

/// One JSON value as a token id; `path` names it in the error.
Result<TokenId> read_token_id(const Json& json, const std::string& path,
                              const RequestLimits& limits);

/// `field: expected WHAT, got VALUE` as kInvalidArgument.
Error wrong_type(const std::string& path, std::string_view expected, const Json& got);
/// `field: required` with kReasonMissing.
Error missing_field(const std::string& path);

}  // namespace kantha::api
