#include "bench/load/exchange.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/net/sse.h"
#include "bench/load/answer_event.h"

namespace kantha::bench {
namespace {

constexpr std::size_t kAnswerBytesMax = 64u << 20;
constexpr std::size_t kEventBytesMax = 8u << 20;
constexpr std::size_t kErrorBytesMax = 16u << 10;
/// How long a server may keep the body open after its end mark.
constexpr Duration kBodyEndWithin = std::chrono::milliseconds(20);
/// Chunks beyond the tokens asked for: role, finish, usage, and servers that count differently.
constexpr std::size_t kChunksBeyond = 64;

void fail(RequestLog& log, Outcome outcome, std::string error) {
  log.outcome = outcome;
  log.error = std::move(error);
}

void fail(RequestLog& log, const Error& error) {
  const Outcome outcome = error.code == Code::kUnavailable        ? Outcome::kConnect
                          : error.code == Code::kDeadlineExceeded ? Outcome::kTimeout
                          : error.code == Code::kCancelled        ? Outcome::kCancelled
                                                                  : Outcome::kBroken;
  fail(log, outcome, error.message);
}

/// One answer under way.
class AnswerReading {
 public:
  AnswerReading(RequestLog& log, const PreparedRequest& request, TimePoint origin)
      : log_(log), request_(request), origin_(origin) {}

  /// Takes bytes of a stream; true when nothing more is to be read.
  bool take_stream_bytes(std::string_view bytes) {
    const Duration now = system_clock().now() - origin_;
    bool has_content_in_read = false;
    for (const std::string& payload : reader_.feed(bytes)) {
      const Result<AnswerEvent> event = read_event(payload);
      if (!event.ok()) return failed(Outcome::kMalformed, event.error().message);
      if (event->error) return failed(Outcome::kError, *event->error);
      if (event->usage) log_.usage = event->usage;
      is_finished_ |= event->is_finish;
      if (event->is_end_mark && !std::exchange(log_.has_end_mark, true)) log_.ended = now;
      if (!event->has_content) continue;
      if (std::exchange(has_content_in_read, true)) ++log_.coalesced;
      log_.content_at.push_back(now);
    }
    if (reader_.pending_bytes() > kEventBytesMax) {
      return failed(Outcome::kMalformed, "an event of the stream has no end");
    }
    const auto wanted = static_cast<std::size_t>(request_.output_tokens_max);
    if (log_.content_at.size() > 2 * wanted + kChunksBeyond) {
      return failed(Outcome::kEndless, "more chunks than tokens were asked for");
    }
    return false;
  }

  /// The proper end of the body.
  void end_stream() {
    if (!log_.has_end_mark && !is_finished_) {
      fail(log_, Outcome::kMalformed,
           "the stream ended without a finish_reason and without [DONE]");
    } else if (log_.content_at.empty() && (!log_.usage || log_.usage->output_tokens == 0)) {
      fail(log_, Outcome::kEmpty, "a stream without any text");
    }
  }

  void end_whole(const std::string& body) {
    const Result<AnswerEvent> answer = read_whole(body);
    if (!answer.ok()) return fail(log_, Outcome::kMalformed, answer.error().message);
    if (answer->error) return fail(log_, Outcome::kError, *answer->error);
    log_.usage = answer->usage;
    log_.has_end_mark = true;
    if (!answer->has_content && (!log_.usage || log_.usage->output_tokens == 0)) {
      fail(log_, Outcome::kEmpty, "an answer without any text");
    }
  }

 private:
  bool failed(Outcome outcome, std::string error) {
    fail(log_, outcome, std::move(error));
    return true;
  }

  RequestLog& log_;
  const PreparedRequest& request_;
  TimePoint origin_;
  net::SseReader reader_;
  bool is_finished_ = false;
};

/// "text/html" where an event stream was promised; empty when the type fits or is not told.
std::string wrong_type(const net::ResponseStream& stream, bool is_stream) {
  const auto type = stream.headers().find("Content-Type");
  if (!is_stream || !type || type->find("text/event-stream") != std::string_view::npos) return {};
  return std::string(type->substr(0, 100));
}

/// The body, at most `bytes_max` of it (the rest is left unread), or what went wrong.
net::Task<Result<std::string>> read_body(std::shared_ptr<net::ResponseStream> stream,
                                         TimePoint deadline, std::size_t bytes_max) {
  std::string body;
  while (body.size() < bytes_max) {
    Result<std::string> piece = co_await stream->read(deadline - system_clock().now());
    if (!piece.ok()) co_return std::move(piece).error();
    if (piece->empty()) co_return body;
    body += *piece;
  }
  co_return body;
}

net::Task<void> read_refusal(std::shared_ptr<net::ResponseStream> stream, TimePoint deadline,
                             RequestLog* log, Outcome outcome, std::string what) {
  const Result<std::string> body = co_await read_body(std::move(stream), deadline, kErrorBytesMax);
  if (!body.ok() && body.error().code == Code::kCancelled) {
    fail(*log, body.error());
  } else {
    fail(*log, outcome, what + ": " + (body.ok() ? error_line(*body) : body.error().message));
  }
}

net::Task<void> read_stream(std::shared_ptr<net::ResponseStream> stream, TimePoint deadline,
                            RequestLog* log, AnswerReading* reading) {
  std::size_t total = 0;
  while (true) {
    const Result<std::string> bytes = co_await stream->read(deadline - system_clock().now());
    if (!bytes.ok() && log->has_end_mark) co_return reading->end_stream();
    if (!bytes.ok()) co_return fail(*log, bytes.error());
    if (bytes->empty()) co_return reading->end_stream();
    total += bytes->size();
    if (total > kAnswerBytesMax) co_return fail(*log, Outcome::kEndless, "more than 64 MiB");
    if (reading->take_stream_bytes(*bytes)) co_return;
    // An answer is over at its end mark, but only a body that was read to its end leaves the
    // connection to the next request.
    if (log->has_end_mark) deadline = std::min(deadline, system_clock().now() + kBodyEndWithin);
  }
}

}  // namespace

net::HttpRequest request_to(const ServerDoor& door, std::string method, std::string target) {
  net::HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  // Whatever a server is asked here, it changes nothing there; and servers close kept connections
  // without saying so, at the very moment when the next request is on its way.
  request.may_be_repeated = true;
  if (!door.api_key.empty()) request.headers.set("Authorization", "Bearer " + door.api_key);
  if (request.method == "POST") request.headers.set("Content-Type", "application/json");
  return request;
}

net::Task<RequestLog> exchange(std::shared_ptr<net::HttpClient> client, ServerDoor door,
                               PreparedRequest prepared, TimePoint origin,
                               std::shared_ptr<net::CancelSignal> cancel) {
  RequestLog log;
  log.output_tokens_wanted = prepared.output_tokens_max;
  net::HttpRequest request = request_to(door, "POST", prepared.target);
  request.headers.set("Accept", prepared.is_stream ? "text/event-stream" : "application/json");
  request.body = std::move(prepared.body);
  const TimePoint begin = system_clock().now();
  const TimePoint deadline = begin + door.timeout;
  log.sent = begin - origin;
  const auto on_resend = [&log] { log.was_resent = true; };
  Result<std::unique_ptr<net::ResponseStream>> opened =
      co_await client->open(door.endpoint, std::move(request), door.timeout, cancel, on_resend);
  if (!opened.ok()) {
    fail(log, opened.error());
    log.ended = system_clock().now() - origin;
    co_return log;
  }
  const std::shared_ptr<net::ResponseStream> stream = std::move(opened).value();
  cancel->on_cancel([weak = std::weak_ptr(stream)] {
    if (const auto running = weak.lock()) running->cancel();
  });
  log.status = stream->status();
  AnswerReading reading(log, prepared, origin);
  const std::string type = wrong_type(*stream, prepared.is_stream);
  if (log.status != 200) {
    co_await read_refusal(stream, deadline, &log, Outcome::kStatus,
                          "HTTP " + std::to_string(log.status));
  } else if (!type.empty()) {
    co_await read_refusal(stream, deadline, &log, Outcome::kMalformed,
                          "no event stream but " + type);
  } else if (prepared.is_stream) {
    co_await read_stream(stream, deadline, &log, &reading);
  } else {
    const Result<std::string> body = co_await read_body(stream, deadline, kAnswerBytesMax);
    if (body.ok()) {
      reading.end_whole(*body);
    } else {
      fail(log, body.error());
    }
  }
  if (log.ended == Duration::zero()) log.ended = system_clock().now() - origin;
  co_return log;
}

}  // namespace kantha::bench
