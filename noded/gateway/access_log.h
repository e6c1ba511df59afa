#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "noded/gateway/forward_outcome.h"
#include "noded/gateway/request_trace.h"

/// One JSON line for each request that is not a probe. No prompt, no answer, no key and no digest
/// is ever in it.
namespace kantha::noded {

struct AccessEntry {
  RequestTrace trace;
  std::string tenant;  ///< empty: no key was asked for, or none was right
  std::string method;
  std::string route;    ///< as listed; empty: none
  std::string model;    ///< as the client named it, cut; empty: it named none
  int status = 0;       ///< 0: the client left before there was one
  std::string refusal;  ///< why the door refused it; empty: it did not
  bool streamed = false;
  std::string ended_by;  ///< server, door, client, slow_client
  std::string target;    ///< the server that answered
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> completion_tokens;
  int resumes = 0;
  int retries = 0;
  std::int64_t bytes_sent = 0;
  std::optional<Duration> held;
  std::optional<Duration> first_byte;
  Duration total{};
};

/// Takes over what became of the request.
void note_outcome(const ForwardOutcome& outcome, AccessEntry& entry);

/// The line with its end; at most 4,096 bytes.
std::string access_line(const AccessEntry& entry, WallTime now);

/// Where the lines go. A place that takes no more (a reader that hangs) loses lines, never time:
/// dropped() counts them. One thread.
class AccessLog {
 public:
  AccessLog() = default;
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// "off" or empty, "stdout", or a file that is appended to. The error names the file.
  Status open(const std::string& where);
  bool is_on() const { return fd_ >= 0; }
  void write(const AccessEntry& entry, WallTime now);
  std::int64_t dropped() const { return dropped_; }

 private:
  int fd_ = -1;
  bool owns_ = false;
  std::int64_t dropped_ = 0;
};

}  // namespace kantha::noded
