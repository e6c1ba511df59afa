#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json_fields.h"
#include "base/result.h"

/// The fields of a request that change logits: penalties, biases, words and tokens. Pure.
namespace kantha::api {

struct RequestLimits;

/// One entry of logit_bias.
struct LogitBias {
  TokenId token = 0;
  double bias = 0;  ///< -100 … 100

  bool operator==(const LogitBias&) const = default;
};

/// All within their ranges; as it is here nothing changes.
struct LogitFields {
  double repetition_penalty = 1;            ///< 0.01 … 100; of tokens in prompt and output
  double presence_penalty = 0;              ///< -2 … 2; of tokens in the output
  double frequency_penalty = 0;             ///< -2 … 2; the same, for each time
  std::vector<LogitBias> bias = {};         ///< ≤ 1,024, by rising id
  std::vector<TokenId> allowed = {};        ///< allowed_token_ids, rising; empty: all
  std::vector<std::string> bad_words = {};  ///< ≤ 128 of 1 to 256 bytes

  bool operator==(const LogitFields&) const = default;
};

Result<LogitFields> read_logit_fields(const JsonFields& fields, const RequestLimits& limits);

}  // namespace kantha::api
