#include "base/net/request_reader.h"

#include <algorithm>
#include <utility>

namespace kantha::net {
namespace {

/// A body in more chunks than this is an attack on our time, not an upload.
constexpr std::size_t kChunkCountMax = 16384;
/// Longest chunk header or trailer that we wait for the end of.
constexpr std::size_t kChunkHeadBytesMax = 8u << 10;
/// Slower bodies than this, after the first body_timeout, are cut.
constexpr std::int64_t kBodyBytesPerSecondMin = 1024;

Refusal to_refusal(const Error& error) {
  return {error.code == Code::kOutOfRange ? 413 : 400, error.message};
}

}  // namespace

MessageBounds RequestReader::parser_bounds() const {
  return {.head_bytes_max = limits_.request_line_bytes_max + limits_.header_bytes_max + 1,
          .header_count_max = limits_.header_count_max,
          .body_bytes_max = limits_.body_bytes_max,
          .chunk_count_max = kChunkCountMax};
}

TimePoint RequestReader::body_deadline(const BodyProgress& progress) const {
  const auto earned = std::chrono::milliseconds(static_cast<std::int64_t>(progress.received_bytes) *
                                                1000 / kBodyBytesPerSecondMin);
  return std::min(deadline_after(limits_.body_timeout),
                  progress.started_at + limits_.body_timeout + earned);
}

ReadOutcome RequestReader::read_failure(const Error& error, std::string_view what) {
  if (error.code != Code::kDeadlineExceeded) return ConnectionEnd{};
  return Refusal{408, std::string(what) + " did not arrive in time"};
}

Task<ReadOutcome> RequestReader::next() {
  const HeadOutcome head = co_await read_head();
  if (const auto* refusal = std::get_if<Refusal>(&head.failure)) co_return *refusal;
  if (head.head_bytes == 0) co_return ConnectionEnd{};
  HeadVerdict verdict =
      check_request_head(std::string_view(buffer_).substr(0, head.head_bytes), limits_);
  if (verdict.refusal) co_return *std::move(verdict.refusal);
  auto parser = std::make_unique<MessageParser>(MessageKind::kRequest, parser_bounds());
  const Result<std::size_t> used =
      parser->feed(std::string_view(buffer_).substr(0, head.head_bytes));
  if (!used) co_return to_refusal(used.error());
  // The guard and Beast must agree on where the head ends and whether a body follows.
  if (*used != head.head_bytes || !parser->head_done() ||
      parser->done() == verdict.facts.has_body) {
    co_return Refusal{400, "malformed request head"};
  }
  buffer_.erase(0, head.head_bytes);
  IncomingRequest incoming = {.facts = verdict.facts, .held = HeldBytes(bodies_bytes_)};
  incoming.request.method = parser->method();
  incoming.request.target = parser->target();
  incoming.request.headers = std::move(parser->headers());
  co_return co_await read_body(std::move(parser), std::move(incoming));
}

Task<RequestReader::HeadOutcome> RequestReader::read_head() {
  HeadScanner scanner(limits_);
  const bool is_first = std::exchange(is_first_, false);
  TimePoint deadline =
      deadline_after(is_first || !buffer_.empty() ? limits_.header_timeout : limits_.idle_timeout);
  bool may_skip_empty_line = true;
  bool has_begun = !buffer_.empty();
  while (true) {
    // One empty line before a request is forgiven (RFC 9112, section 2.2).
    if (may_skip_empty_line && buffer_.starts_with("\r\n")) {
      buffer_.erase(0, 2);
      may_skip_empty_line = false;
    }
    if (buffer_ != "\r" || !may_skip_empty_line) {
      HeadScanner::Found found = scanner.scan(buffer_);
      if (found.refusal) co_return HeadOutcome{.failure = *std::move(found.refusal)};
      if (found.head_bytes > 0) co_return HeadOutcome{.head_bytes = found.head_bytes};
    }
    Result<std::string> bytes = co_await socket_.read_some(deadline);
    if (!bytes) {
      const ReadOutcome failure = read_failure(bytes.error(), "the request's head");
      const auto* refusal = std::get_if<Refusal>(&failure);
      if (refusal != nullptr && has_begun) co_return HeadOutcome{.failure = *refusal};
      co_return HeadOutcome{.failure = ConnectionEnd{}};
    }
    if (bytes->empty()) co_return HeadOutcome{.failure = ConnectionEnd{}};
    if (!std::exchange(has_begun, true)) deadline = deadline_after(limits_.header_timeout);
    buffer_ += *bytes;
  }
}

Task<ReadOutcome> RequestReader::read_body(std::unique_ptr<MessageParser> parser,
                                           IncomingRequest incoming) {
  if (incoming.facts.expects_continue && incoming.facts.has_body && buffer_.empty()) {
    const Status sent =
        co_await socket_.write_all("HTTP/1.1 100 Continue\r\n\r\n", limits_.write_stall_timeout);
    if (!sent) co_return ConnectionEnd{};
  }
  BodyProgress progress = {.started_at = system_clock().now(), .received_bytes = buffer_.size()};
  if (incoming.facts.has_body) incoming.held.add(buffer_.size());
  while (!parser->done()) {
    if (bodies_bytes_ > limits_.bodies_bytes_max) {
      co_return Refusal{503, "this server holds too many large bodies: send the request again"};
    }
    if (!buffer_.empty()) {
      const Result<std::size_t> used = parser->feed(buffer_);
      if (!used) co_return to_refusal(used.error());
      buffer_.erase(0, *used);
      if (parser->done()) break;
      if (buffer_.size() > kChunkHeadBytesMax) {
        co_return Refusal{400, "chunk header or trailer is longer than " +
                                   std::to_string(kChunkHeadBytesMax) + " bytes"};
      }
    }
    Result<std::string> bytes = co_await socket_.read_some(body_deadline(progress));
    if (!bytes) co_return read_failure(bytes.error(), "the request's body");
    if (bytes->empty()) co_return ConnectionEnd{};
    progress.received_bytes += bytes->size();
    incoming.held.add(bytes->size());
    buffer_ += *bytes;
  }
  incoming.request.body = parser->take_body();
  co_return incoming;
}

}  // namespace kantha::net
