#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/load/request_log.h"

/// Hand-made logs for tests; all times in milliseconds.
namespace kantha::bench {

inline Duration ms(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(value));
}

/// A stream whose chunks came at these times.
inline RequestLog answered(double due, std::vector<double> content_at, double ended,
                           std::int64_t output_tokens, std::int64_t prompt_tokens = 10) {
  RequestLog log;
  log.due = log.sent = ms(due);
  for (const double at : content_at) log.content_at.push_back(ms(at));
  log.ended = ms(ended);
  log.usage = Usage{prompt_tokens, output_tokens};
  log.has_end_mark = true;
  log.status = 200;
  return log;
}

inline RequestLog failed(double due, double ended, Outcome outcome, int status = 0) {
  RequestLog log;
  log.due = log.sent = ms(due);
  log.ended = ms(ended);
  log.outcome = outcome;
  log.status = status;
  log.error = "it went wrong";
  return log;
}

/// Length and the driver's integral as an honest driver would have counted them.
inline Phase phase_of(std::vector<RequestLog> requests) {
  Phase phase;
  for (const RequestLog& request : requests) {
    phase.length = std::max(phase.length, request.ended);
    phase.in_flight_s += std::chrono::duration<double>(request.ended - request.due).count();
  }
  phase.requests = std::move(requests);
  return phase;
}

}  // namespace kantha::bench
