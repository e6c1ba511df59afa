#include "tests/fake/api_server/fake_transport.h"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/json.h"
#include "tests/fake/api_server/api_refusal.h"
#include "tests/fake/api_server/partial_metadata.h"

namespace kantha::fake {
namespace {

constexpr Duration kPoll = std::chrono::seconds(1);  ///< how often a partition is looked at again

Error cancelled() { return {Code::kCancelled, "the transport is closed"}; }
Error timed_out() { return {Code::kDeadlineExceeded, "no answer within the deadline"}; }

bool is_crash(FaultKind kind) {
  return kind == FaultKind::kCrashBefore || kind == FaultKind::kCrashAfter;
}

/// The answers that a fault gives instead of the server's.
net::HttpResponse made_up_answer(const Fault& fault, const ApiRequest& request) {
  const Kind kind{.group = request.group, .plural = request.plural};
  if (fault.kind == FaultKind::kThrottle) return refusal_answer(throttled(fault.retry_after));
  if (fault.kind == FaultKind::kForbid) {
    return refusal_answer(forbidden(kind, request.name, "a test forbids it"));
  }
  if (fault.kind == FaultKind::kGarble) {
    return {200, {{"Content-Type", "application/json"}}, "{\"kind\":\"Po"};
  }
  return refusal_answer({500, "InternalError",
                         "Internal error occurred: etcdserver: request timed "
                         "out"});
}

bool is_answered_before(FaultKind kind) {
  return kind == FaultKind::kErrorBefore || kind == FaultKind::kThrottle ||
         kind == FaultKind::kForbid;
}

}  // namespace

struct FakeTransport::Body {
  FakeApiServer& server;
  std::string agent;
  std::shared_ptr<ReadView> view = std::make_shared<ReadView>();
  FaultRule faults = {};
  WatchFaultRule watch_faults = {};
  std::function<void()> crash_listener = {};
  Duration latency = {};
  std::uint64_t calls = 0;
  std::uint64_t watches = 0;
  bool is_closed = false;
  bool is_cut_off = false;
  bool is_crashed = false;

  bool is_dead() const { return is_closed || is_crashed; }

  void crash() {
    if (std::exchange(is_crashed, true)) return;
    if (crash_listener) crash_listener();
    server.changed().notify();
  }

  Fault next_fault(const ApiRequest& request) {
    const std::uint64_t index = calls++;
    return faults ? faults(index, request) : Fault{};
  }
};

namespace {

class WatchStream final : public net::ResponseStream {
 public:
  WatchStream(FakeApiServer& server, net::HttpResponse head, std::unique_ptr<WatchCursor> cursor,
              WatchFault fault, std::function<bool()> is_dead, std::function<bool()> is_cut_off)
      : server_(server),
        head_(std::move(head)),
        cursor_(std::move(cursor)),
        fault_(fault),
        is_dead_(std::move(is_dead)),
        is_cut_off_(std::move(is_cut_off)),
        cancelled_(std::make_shared<bool>(false)) {}

  int status() const override { return head_.status; }
  const net::Headers& headers() const override { return head_.headers; }

  net::Task<Result<std::string>> read(Duration idle_timeout) override {
    const Clock& clock = server_.store().clock();
    const TimePoint deadline = clock.now() + idle_timeout;
    const auto stopped = cancelled_;  // this stream may be gone after a wait
    while (true) {
      if (*stopped || is_dead_()) co_return cancelled();
      if (cursor_ == nullptr) co_return std::exchange(head_.body, {});
      if (!is_cut_off_()) {
        if (fault_.ends_at_once) co_return std::string();
        std::string text = cursor_->take();
        if (!text.empty()) co_return cut(std::move(text));
        if (cursor_->is_over()) co_return std::string();
      }
      const TimePoint now = clock.now();
      if (now >= deadline) co_return timed_out();
      const TimePoint wake = is_cut_off_() ? now + kPoll : cursor_->next_time();
      const Duration wait = std::max(std::min(wake, deadline) - now, Duration(1));
      FakeApiServer& server = server_;
      co_await server.changed().wait(wait);
      if (*stopped) co_return cancelled();
    }
  }

  void cancel() override {
    *cancelled_ = true;
    server_.changed().notify();
  }

 private:
  Result<std::string> cut(std::string text) {
    if (is_broken_) return data_loss("the watch was cut");
    if (fault_.cut_after_bytes == 0) return text;
    if (told_ + text.size() < fault_.cut_after_bytes) {
      told_ += text.size();
      return text;
    }
    text.resize(fault_.cut_after_bytes - told_);
    is_broken_ = true;
    if (text.empty()) return data_loss("the watch was cut");
    return text;
  }

  FakeApiServer& server_;
  net::HttpResponse head_;
  std::unique_ptr<WatchCursor> cursor_;
  WatchFault fault_;
  std::function<bool()> is_dead_;
  std::function<bool()> is_cut_off_;
  std::shared_ptr<bool> cancelled_;
  std::size_t told_ = 0;
  bool is_broken_ = false;
};

}  // namespace

FakeTransport::FakeTransport(FakeApiServer& server, std::string agent)
    : body_(std::make_shared<FakeTransport::Body>(server, std::move(agent))) {}

FakeTransport::~FakeTransport() { body_->is_closed = true; }

net::Task<Result<net::HttpResponse>> FakeTransport::call(net::HttpRequest request, Duration timeout,
                                                         std::size_t body_bytes_max) {
  const auto self = body_;
  if (self->is_dead()) co_return cancelled();
  if (!request.headers.find("User-Agent")) request.headers.set("User-Agent", self->agent);
  const ApiRequest parsed = parse_api_request(request);
  const Fault fault = self->next_fault(parsed);
  const Duration before = self->latency + fault.delay_before;
  const Duration after = self->latency + fault.delay_after;
  if (fault.kind == FaultKind::kCrashBefore) self->crash();
  if (self->is_dead()) co_return cancelled();
  if (before > Duration::zero()) co_await net::sleep_for(std::min(before, timeout));
  if (self->is_dead()) co_return cancelled();
  if (before >= timeout) co_return timed_out();
  if (self->is_cut_off) {
    co_await net::sleep_for(timeout - before);
    co_return self->is_dead() ? cancelled() : timed_out();
  }
  if (fault.kind == FaultKind::kRefuse) co_return unavailable("connection refused");

  net::HttpResponse answer;
  if (is_answered_before(fault.kind)) {
    answer = made_up_answer(fault, parsed);
  } else {
    answer = self->server.answer(request, self->view).response;
    keep_metadata(request, answer);
  }
  if (fault.kind == FaultKind::kCrashAfter) self->crash();
  if (self->is_dead()) co_return cancelled();
  if (fault.kind == FaultKind::kHang || before + after >= timeout) {
    co_await net::sleep_for(timeout - before);
    co_return self->is_dead() ? cancelled() : timed_out();
  }
  if (after > Duration::zero()) co_await net::sleep_for(after);
  if (self->is_dead()) co_return cancelled();
  if (fault.kind == FaultKind::kDropAnswer) co_return data_loss("the answer was cut");
  const bool garbled = fault.kind == FaultKind::kErrorAfter || fault.kind == FaultKind::kGarble;
  if (garbled) answer = made_up_answer(fault, parsed);
  if (answer.body.size() > body_bytes_max) {
    co_return Error{Code::kOutOfRange, "the answer is beyond its bound"};
  }
  co_return answer;
}

net::Task<Result<std::unique_ptr<net::ResponseStream>>> FakeTransport::open(
    net::HttpRequest request, Duration header_timeout) {
  const auto self = body_;
  if (self->is_dead()) co_return cancelled();
  if (!request.headers.find("User-Agent")) request.headers.set("User-Agent", self->agent);
  const ApiRequest parsed = parse_api_request(request);
  const Fault fault = self->next_fault(parsed);
  if (is_crash(fault.kind)) self->crash();
  if (self->is_dead()) co_return cancelled();
  const Duration before = self->latency + fault.delay_before + fault.delay_after;
  if (before > Duration::zero()) co_await net::sleep_for(std::min(before, header_timeout));
  if (self->is_dead()) co_return cancelled();
  if (before >= header_timeout) co_return timed_out();
  if (self->is_cut_off || fault.kind == FaultKind::kHang) {
    co_await net::sleep_for(header_timeout - before);
    co_return self->is_dead() ? cancelled() : timed_out();
  }
  if (fault.kind == FaultKind::kRefuse) co_return unavailable("connection refused");
  if (fault.kind == FaultKind::kDropAnswer) co_return data_loss("the answer was cut");
  Answer answer;
  if (fault.kind == FaultKind::kNone) {
    answer = self->server.answer(request, self->view);
  } else {
    answer.response = made_up_answer(fault, parsed);
  }
  const std::uint64_t index = self->watches++;
  const WatchFault watch_fault =
      self->watch_faults ? self->watch_faults(index, parsed) : WatchFault{};
  std::unique_ptr<net::ResponseStream> stream = std::make_unique<WatchStream>(
      self->server, std::move(answer.response), std::move(answer.watch), watch_fault,
      [self] { return self->is_dead(); }, [self] { return self->is_cut_off; });
  co_return stream;
}

void FakeTransport::close() {
  body_->is_closed = true;
  body_->server.changed().notify();
}

void FakeTransport::set_faults(FaultRule rule) { body_->faults = std::move(rule); }
void FakeTransport::set_watch_faults(WatchFaultRule rule) { body_->watch_faults = std::move(rule); }
void FakeTransport::set_latency(Duration latency) { body_->latency = latency; }
void FakeTransport::set_cut_off(bool cut_off) {
  body_->is_cut_off = cut_off;
  body_->server.changed().notify();
}
void FakeTransport::on_crash(std::function<void()> listener) {
  body_->crash_listener = std::move(listener);
}
bool FakeTransport::is_crashed() const { return body_->is_crashed; }
ReadView& FakeTransport::view() { return *body_->view; }
std::uint64_t FakeTransport::call_count() const { return body_->calls; }

}  // namespace kantha::fake
