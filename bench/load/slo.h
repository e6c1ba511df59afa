#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bench/load/request_log.h"

/// Limits that a request has to keep to count for goodput. Any thread.
namespace kantha::bench {

/// In milliseconds; absent limits do not count.
struct Slo {
  std::optional<double> ttft_ms = {};
  std::optional<double> itl_ms = {};  ///< 95 % of the request's own gaps between chunks
  std::optional<double> tpot_ms = {};
  std::optional<double> e2e_ms = {};
};

/// "ttft:300,itl:50"; names ttft, itl, tpot, e2e. kInvalidArgument shows the part at fault.
Result<Slo> parse_slo(const std::string& text);

/// Milliseconds of one request; absent where it cannot be known.
std::optional<double> ttft_ms(const RequestLog& request);
/// (last content - first content) / (output tokens - 1); needs a stream and usage.
std::optional<double> tpot_ms(const RequestLog& request);
double e2e_ms(const RequestLog& request);
/// Gaps between chunks with content; 0 for chunks that came in one read.
std::vector<double> itl_ms(const RequestLog& request);

/// Succeeded, and every limit that is set is known to be kept (an unknown figure keeps none, but a
/// request of one token has no gap to miss).
bool meets(const RequestLog& request, const Slo& slo);

}  // namespace kantha::bench
