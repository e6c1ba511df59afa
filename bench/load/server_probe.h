#pragma once

#include <memory>
#include <string>

#include "bench/load/exchange.h"
#include "bench/load/options.h"
#include "bench/load/prompt_text.h"
#include "bench/load/server_metrics.h"

/// What must be known of a server before it is measured, and what is read beside. One executor.
namespace kantha::bench {

struct ServerFacts {
  std::string model;
  int window = 0;  ///< max_model_len; 0: not told
  TokenRatio ratio = {};
  std::string trouble = {};  ///< why the ratio is only assumed
};

/// Asks for the model (unless named) and measures how words become tokens: by /tokenize as vLLM or
/// llama.cpp have it, and the usage of one or two answers of one token for the rest. Errors:
/// kUnavailable or kDeadlineExceeded when nobody answers, kNotFound when no model is listed.
/// `cancel` ends it within the ten seconds that a question without an answer may take.
net::Task<Result<ServerFacts>> probe_server(std::shared_ptr<net::HttpClient> client,
                                            ServerDoor door, BenchOptions options,
                                            std::shared_ptr<net::CancelSignal> cancel);

/// GET /metrics; empty when the server has none.
net::Task<MetricSums> scrape(std::shared_ptr<net::HttpClient> client, ServerDoor door);

/// The ratio from two texts of known words and tokens (pure): a line through both points.
TokenRatio ratio_of(int words_few, double tokens_few, int words_many, double tokens_many,
                    std::string source);

}  // namespace kantha::bench
