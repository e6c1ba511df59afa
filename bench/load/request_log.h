#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

/// What was seen of the requests: plain data between the driver, which writes it, and the measures.
namespace kantha::bench {

/// How a request ended.
enum class Outcome : std::uint8_t {
  kOk,
  kConnect,    ///< nobody took the request
  kTimeout,    ///< not done within --timeout
  kStatus,     ///< an HTTP status other than 200
  kBroken,     ///< the connection or the HTTP framing broke in the middle
  kMalformed,  ///< a 200 whose body is not what the API promises
  kError,      ///< an error event inside the stream
  kEmpty,      ///< a proper end without any text or token
  kEndless,    ///< far more chunks than tokens were asked for
  kCancelled,  ///< cut off by us, on Ctrl-C; neither success nor failure
};

/// "ok", "connect", …; stable, used in reports.
std::string_view outcome_name(Outcome outcome);

/// Token counts by the server's own account.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<std::int64_t> cached_tokens = {};  ///< of the prompt; few servers tell
};

/// One request. Times count from the start of its phase.
struct RequestLog {
  std::uint64_t index = 0;  ///< which request of the load; equal index, equal prompt
  Duration due{};           ///< when it should be sent: all latencies count from here
  Duration sent{};          ///< when it was
  Duration ended{};
  int input_tokens_wanted = 0;
  int output_tokens_wanted = 0;
  /// Arrival of each chunk with content (text or reasoning, not the role), in a stream.
  std::vector<Duration> content_at = {};
  std::size_t coalesced = 0;  ///< of those, how many came in one read with the chunk before
  std::optional<Usage> usage = {};
  bool has_end_mark = false;  ///< "[DONE]"
  bool was_resent = false;    ///< the server had closed the kept connection it was sent on first
  Outcome outcome = Outcome::kOk;
  int status = 0;     ///< HTTP status, 0 when there was none
  std::string error;  ///< one line for people; empty when ok

  bool ok() const { return outcome == Outcome::kOk; }
  bool failed() const { return !ok() && outcome != Outcome::kCancelled; }
  /// outcome_name, with the status for kStatus: "http_429".
  std::string kind() const;
};

/// One uninterrupted stretch of load on one server: from no request in flight to none in flight.
struct Phase {
  std::vector<RequestLog> requests = {};  ///< in order of their ends
  Duration length{};                      ///< from the first due time to the last end
  double in_flight_s = 0;                 ///< integral of the driver's count of running requests
  int in_flight_peak = 0;
  std::size_t dropped = 0;          ///< arrivals that were not sent: too many in flight
  double client_cpu_s = 0;          ///< processor time of this process
  std::vector<double> lag_ms = {};  ///< how late our own timer ran, sampled 100 times a second
  bool was_interrupted = false;     ///< Ctrl-C
  bool was_hopeless = false;        ///< given up: nothing but failures
  bool was_open_loop = false;
};

}  // namespace kantha::bench
