#pragma once

#include <string>

#include "bench/load/exchange.h"
#include "bench/load/options.h"

/// Requests as JSON. Pure. Any thread.
namespace kantha::bench {

/// A request for `output_tokens` tokens after `prompt`, greedy; a stream asks for its usage.
PreparedRequest prepare_request(const BenchOptions& options, const std::string& model,
                                const std::string& prompt, int output_tokens);

}  // namespace kantha::bench
