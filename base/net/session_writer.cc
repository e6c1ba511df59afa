#include "base/net/session_writer.h"

#include <exception>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/net/ascii.h"

namespace kantha::net {
namespace {

Error client_is_gone() { return {Code::kCancelled, "the client is gone"}; }

}  // namespace

std::string SessionWriter::begin(int status, const Headers& headers, BodyFraming body,
                                 std::size_t length) {
  CHECK(phase_ == Phase::kFresh, "one answer per request");
  const auto wish = headers.find("connection");
  const bool wants_close = wish && equals_ignoring_case(trim(*wish), "close");
  body_ = body;
  has_no_body_ = facts_.is_head || is_bodyless(status);
  keeps_connection_ = facts_.keep_alive && !is_stopping_ && !wants_close &&
                      (body != BodyFraming::kUntilClose || has_no_body_);
  return render_answer_head(status, headers,
                            {.body = body,
                             .content_length = length,
                             .keep_alive = keeps_connection_,
                             .is_http_10 = facts_.is_http_10,
                             .now = system_clock().wall_now()});
}

Task<Status> SessionWriter::send(HttpResponse response) {
  std::string wire =
      begin(response.status, response.headers, BodyFraming::kLength, response.body.size());
  phase_ = Phase::kFinished;
  if (!has_no_body_) wire += response.body;
  // Also tried after the client's end was seen: one that only closed its sending side gets it.
  co_return co_await put(std::move(wire));
}

Task<Status> SessionWriter::start(int status, Headers headers) {
  const BodyFraming body = facts_.is_http_10 ? BodyFraming::kUntilClose : BodyFraming::kChunked;
  std::string wire = begin(status, headers, body, 0);
  phase_ = Phase::kStreaming;
  if (is_gone_) co_return client_is_gone();
  co_return co_await put(std::move(wire));
}

Task<Status> SessionWriter::write(std::string bytes) {
  CHECK(phase_ == Phase::kStreaming || phase_ == Phase::kAborted, "write between start and finish");
  if (is_gone_ || phase_ == Phase::kAborted) co_return client_is_gone();
  if (bytes.empty() || has_no_body_) co_return ok_status();
  if (body_ == BodyFraming::kChunked) bytes = render_chunk(bytes);
  co_return co_await put(std::move(bytes));
}

Task<Status> SessionWriter::finish() {
  CHECK(phase_ == Phase::kStreaming || phase_ == Phase::kAborted, "finish after start");
  if (phase_ == Phase::kAborted) co_return client_is_gone();
  phase_ = Phase::kFinished;
  if (is_gone_) co_return client_is_gone();
  if (body_ != BodyFraming::kChunked || has_no_body_) co_return ok_status();
  co_return co_await put(std::string(kLastChunk));
}

void SessionWriter::abort() {
  if (phase_ == Phase::kAborted) return;
  phase_ = Phase::kAborted;
  is_broken_ = true;
  // Where only the end of the connection ends the body, an orderly end would look complete.
  if (body_ == BodyFraming::kUntilClose) {
    socket_.reset();
  } else {
    socket_.close();
  }
}

Task<Status> SessionWriter::put(std::string bytes) {
  if (is_broken_) co_return client_is_gone();
  CHECK(!is_writing_, "one write at a time; await the previous one");
  is_writing_ = true;
  Status sent = co_await socket_.write_all(std::move(bytes), limits_.write_stall_timeout);
  is_writing_ = false;
  if (sent.ok()) co_return sent;
  is_broken_ = true;
  socket_.close();
  mark_gone();
  if (sent.error().code == Code::kDeadlineExceeded) co_return sent;
  co_return client_is_gone();
}

void SessionWriter::on_client_gone(std::function<void()> callback) {
  if (is_gone_) {
    call(callback);
  } else {
    gone_callback_ = std::move(callback);
  }
}

void SessionWriter::mark_gone() {
  is_gone_ = true;
  const auto callback = std::exchange(gone_callback_, nullptr);
  if (callback) call(callback);
}

void SessionWriter::call(const std::function<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& error) {
    log_error("client-gone callback failed", {{"error", error.what()}});
  }
}

}  // namespace kantha::net
