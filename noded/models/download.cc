#include "noded/models/download.h"

#include <algorithm>
#include <utility>

#include "base/version.h"
#include "noded/models/content_rules.h"

namespace kantha::noded {
namespace {

constexpr int kRedirectsMax = 5;
/// As many bytes as content_problem needs to judge.
constexpr std::size_t kJudgedBytes = 32;
constexpr const char* kRefusedReason = "not_weights";

Error not_weights(std::string why) {
  Error error = invalid_argument(std::move(why));
  error.reason = kRefusedReason;
  return error;
}

}  // namespace

Download::Download(boost::asio::any_io_executor executor, const DownloadSettings& settings,
                   const Clock& clock, DownloadJob job, PartFile& part)
    : executor_(std::move(executor)),
      settings_(settings),
      clock_(clock),
      job_(std::move(job)),
      part_(part) {
  job_.ask.offset = part.bytes();
}

void Download::stop() {
  cancel_->cancel();
  if (reading_ != nullptr) reading_->cancel();
}

DownloadEnd Download::end(AttemptEnd kind, std::string why) const {
  return {.end = kind, .why = std::move(why), .progress = bytes_new_ > 0};
}

DownloadEnd Download::end_of(const Error& error) const {
  if (!job_.go_on() || error.code == Code::kCancelled) return end(AttemptEnd::kStopped, "");
  if (error.code == Code::kResourceExhausted) return end(AttemptEnd::kNoSpace, error.message);
  const bool refused = error.reason == kRefusedReason || error.code == Code::kPermissionDenied ||
                       (error.code == Code::kInvalidArgument && error.field.empty());
  return end(refused ? AttemptEnd::kRefused : AttemptEnd::kRetry, error.message);
}

net::Task<Result<Download::Stream>> Download::ask(Url url) {
  net::HttpRequest request;
  request.headers = ask_headers(job_.ask);
  request.headers.set("Host", url.authority());
  request.headers.set("User-Agent", "kantha-noded/" + std::string(version()));
  request.target = url.target;
  net::Endpoint endpoint = url.endpoint();
  client_ = std::make_unique<net::HttpClient>(executor_);
  const Proxy* proxy = settings_.proxies.proxy_for(url);
  if (url.is_tls) {
    std::shared_ptr<const net::TlsContext> tls = settings_.tls;
    if (!tls) {
      CO_TRY(tls, net::TlsContext::for_client({}));
    }
    client_->set_tls(std::move(tls));
    if (proxy != nullptr) client_->set_tunnel({proxy->endpoint, proxy->authorization});
  } else if (proxy != nullptr) {
    endpoint = proxy->endpoint;
    request.target = url.to_string();
    if (!proxy->authorization.empty()) {
      request.headers.set("Proxy-Authorization", proxy->authorization);
    }
  }
  Result<Stream> stream =
      co_await client_->open(endpoint, std::move(request), settings_.header_timeout, cancel_);
  if (stream.ok() || stream.error().code == Code::kCancelled) co_return stream;
  // Whatever keeps a server from answering may be gone at the next try.
  Error error = std::move(stream).error();
  co_return unavailable(error.message);
}

net::Task<DownloadEnd> Download::run() {
  Url url = job_.url;
  for (int hop = 0; hop <= kRedirectsMax; ++hop) {
    if (!job_.go_on()) co_return end(AttemptEnd::kStopped, "");
    Result<Stream> opened = co_await ask(url);
    if (!opened.ok()) co_return end_of(opened.error());
    Stream stream = std::move(opened).value();
    AnswerVerdict verdict = judge_answer(job_.ask, stream->status(), stream->headers());
    if (verdict.kind != AnswerKind::kRedirect) {
      co_return co_await take(std::move(verdict), std::move(stream));
    }
    Result<Url> next = redirected(url, verdict.location);
    if (!next.ok()) co_return end(AttemptEnd::kRefused, "redirect: " + next.error().message);
    url = std::move(next).value();
  }
  co_return end(AttemptEnd::kRefused, "more than 5 redirects");
}

net::Task<DownloadEnd> Download::take(AnswerVerdict verdict, Stream stream) {
  DownloadEnd out;
  switch (verdict.kind) {
    case AnswerKind::kAppend:
    case AnswerKind::kStartOver: {
      const bool start_over = verdict.kind == AnswerKind::kStartOver;
      note_ = std::move(verdict.note);
      out = co_await pump(std::move(stream), start_over);
      break;
    }
    case AnswerKind::kWholeThere: out = end(AttemptEnd::kComplete, ""); break;
    case AnswerKind::kAskAnew: out = end(AttemptEnd::kAnew, std::move(verdict.why)); break;
    case AnswerKind::kRefuse: out = end(AttemptEnd::kRefused, std::move(verdict.why)); break;
    case AnswerKind::kRedirect:
    case AnswerKind::kRetry: out = end(AttemptEnd::kRetry, std::move(verdict.why)); break;
  }
  out.retry_after = verdict.retry_after;
  co_return out;
}

Status Download::take_piece(std::string& piece, bool last) {
  const bool at_start = start_over_ || part_.bytes() == 0;
  if (at_start && piece.size() < kJudgedBytes && !last) return ok_status();
  if (at_start) {
    std::string problem = content_problem(piece);
    if (!problem.empty()) return not_weights(std::move(problem));
  }
  if (start_over_) TRY_OK(part_.clear());
  if (at_start) TRY_OK(job_.accept(note_));
  start_over_ = false;
  bytes_new_ += static_cast<std::int64_t>(piece.size());
  TRY_OK(part_.append(piece));
  piece.clear();
  job_.moved(part_.bytes());
  return ok_status();
}

net::Task<DownloadEnd> Download::pump(Stream stream, bool start_over) {
  start_over_ = start_over && part_.bytes() > 0;
  const std::int64_t from = start_over ? 0 : part_.bytes();
  const std::int64_t missing = note_.total < 0 ? 0 : note_.total - from;
  // What is thrown away first makes room as well.
  const std::int64_t growth =
      start_over_ ? std::max<std::int64_t>(0, missing - part_.bytes()) : missing;
  Status begun = job_.make_room(growth);
  if (begun.ok() && from > 0) begun = job_.accept(note_);
  if (!begun.ok()) co_return end_of(begun.error());
  std::string held;
  std::int64_t window_bytes = 0;
  TimePoint window_end = clock_.now() + settings_.window;
  while (true) {
    reading_ = stream.get();
    Result<std::string> piece = co_await stream->read(window_end - clock_.now());
    reading_ = nullptr;
    const bool late = !piece.ok() && piece.error().code == Code::kDeadlineExceeded;
    if (!job_.go_on()) co_return end(AttemptEnd::kStopped, "");
    if (!piece.ok() && !late) {
      co_return end(AttemptEnd::kRetry, "cut after " + std::to_string(part_.bytes()) +
                                            " bytes: " + piece.error().message);
    }
    const bool last = piece.ok() && piece->empty();
    if (piece.ok()) {
      window_bytes += static_cast<std::int64_t>(piece->size());
      held += *piece;
      const bool taken_before = last && held.empty() && !start_over_ && part_.bytes() > 0;
      const Status taken = taken_before ? ok_status() : take_piece(held, last);
      if (!taken.ok()) co_return end_of(taken.error());
    }
    if (!start_over_ && note_.total >= 0 && part_.bytes() > note_.total) {
      co_return end(AttemptEnd::kAnew, "more bytes came than the file has");
    }
    if (last) break;
    if (!late && clock_.now() < window_end) continue;
    if (window_bytes < settings_.window_bytes_min) {
      co_return end(AttemptEnd::kRetry,
                    "stalled after " + std::to_string(part_.bytes()) + " bytes");
    }
    window_bytes = 0;
    window_end = clock_.now() + settings_.window;
  }
  if (note_.total >= 0 && part_.bytes() < note_.total) {
    co_return end(AttemptEnd::kRetry, "truncated: " + std::to_string(part_.bytes()) + " of " +
                                          std::to_string(note_.total) + " bytes came");
  }
  co_return end(AttemptEnd::kComplete, "");
}

}  // namespace kantha::noded
