#include "noded/gateway/access_log.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/json.h"

namespace kantha::noded {
namespace {

/// PIPE_BUF: a pipe that polls as writable takes so much at once.
constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kModelBytesMax = 256;

std::string utc_text(WallTime now) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date = {};
  const std::size_t count = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction = {};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(date.data(), count) + fraction.data();
}

/// Milliseconds with three digits after the point.
double ms_of(Duration duration) {
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::microseconds>(duration).count()) /
         1000.0;
}

void put_text(OrderedJson& out, const char* name, const std::string& text) {
  if (!text.empty()) out[name] = text;
}

template <class T>
void put_number(OrderedJson& out, const char* name, const std::optional<T>& number) {
  if (number) out[name] = *number;
}

}  // namespace

void note_outcome(const ForwardOutcome& outcome, AccessEntry& entry) {
  entry.status = outcome.status;
  entry.streamed = outcome.streamed;
  entry.ended_by = ended_by_name(outcome.ended_by);
  entry.target = outcome.target;
  entry.prompt_tokens = outcome.prompt_tokens;
  entry.completion_tokens = outcome.completion_tokens;
  entry.resumes = outcome.resumes;
  entry.retries = outcome.retries;
  entry.bytes_sent = outcome.bytes_sent;
  entry.held = outcome.held;
  entry.first_byte = outcome.first_byte;
  entry.total = outcome.total;
}

std::string access_line(const AccessEntry& entry, WallTime now) {
  OrderedJson out;
  out["ts"] = utc_text(now);
  out["request_id"] = entry.trace.request_id;
  if (entry.trace.parent) {
    out["trace_id"] = entry.trace.parent->trace_id;
    out["span_id"] = entry.trace.span_id;
  }
  put_text(out, "tenant", entry.tenant);
  out["method"] = entry.method.substr(0, 32);
  put_text(out, "route", entry.route);
  put_text(out, "model", entry.model.substr(0, kModelBytesMax));
  out["status"] = entry.status;
  put_text(out, "refusal", entry.refusal);
  out["stream"] = entry.streamed;
  put_text(out, "ended_by", entry.ended_by);
  put_text(out, "target", entry.target.substr(0, kModelBytesMax));
  put_number(out, "prompt_tokens", entry.prompt_tokens);
  put_number(out, "completion_tokens", entry.completion_tokens);
  if (entry.resumes > 0) out["resumes"] = entry.resumes;
  if (entry.retries > 0) out["retries"] = entry.retries;
  out["bytes"] = entry.bytes_sent;
  if (entry.held && *entry.held > Duration{}) out["held_ms"] = ms_of(*entry.held);
  if (entry.first_byte) out["ttft_ms"] = ms_of(*entry.first_byte);
  out["duration_ms"] = ms_of(entry.total);
  return dump_json(out) + "\n";
}

AccessLog::~AccessLog() {
  if (owns_) ::close(fd_);
}

Status AccessLog::open(const std::string& where) {
  if (where.empty() || where == "off") return ok_status();
  if (where == "stdout") {
    fd_ = STDOUT_FILENO;
    return ok_status();
  }
  constexpr int kMode = 0640;
  fd_ = ::open(where.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kMode);
  if (fd_ < 0) return invalid_argument("--access-log " + where + ": " + std::strerror(errno));
  owns_ = true;
  return ok_status();
}

void AccessLog::write(const AccessEntry& entry, WallTime now) {
  if (!is_on()) return;
  const std::string line = access_line(entry, now);
  pollfd ready = {.fd = fd_, .events = POLLOUT, .revents = 0};
  const bool takes = ::poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0;
  if (!takes || line.size() > kLineBytesMax ||
      ::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ++dropped_;
  }
}

}  // namespace kantha::noded
