#include "bench/load/request_log.h"

namespace kantha::bench {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kConnect: return "connect";
    case Outcome::kTimeout: return "timeout";
    case Outcome::kStatus: return "http";
    case Outcome::kBroken: return "broken";
    case Outcome::kMalformed: return "malformed";
    case Outcome::kError: return "error_event";
    case Outcome::kEmpty: return "empty";
    case Outcome::kEndless: return "endless";
    case Outcome::kCancelled: return "cancelled";
  }
  return "unknown";
}

std::string RequestLog::kind() const {
  std::string name(outcome_name(outcome));
  return outcome == Outcome::kStatus ? name + "_" + std::to_string(status) : name;
}

}  // namespace kantha::bench
