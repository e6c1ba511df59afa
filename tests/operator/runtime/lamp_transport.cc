#include "tests/operator/runtime/lamp_transport.h"

#include <algorithm>
#include <utility>

#include "operator/kube/api_fault.h"

namespace kantha::runtime {
namespace {

using kube::ApiFault;

/// The Status that an API server answers with, for the faults that a LampServer knows.
net::HttpResponse response_of(const Error& error) {
  const ApiFault fault = kube::fault_of(error);
  Json status = {{"kind", "Status"}, {"status", "Failure"}, {"message", error.message}};
  status["code"] = fault == ApiFault::kExpired ? 410 : fault == ApiFault::kInvalid ? 422 : 504;
  if (fault == ApiFault::kFutureVersion) status["message"] = "Too large resource version: 9";
  return {.status = status["code"].get<int>(), .body = dump_json(status)};
}

std::string line_of(const kube::WatchEvent& event) {
  constexpr const char* kTypes[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
  const Json json = {{"type", kTypes[static_cast<std::size_t>(event.type)]},
                     {"object", event.object}};
  return dump_json(json) + "\n";
}

std::string parameter(std::string_view query, const std::string& name) {
  std::size_t begin = 0;
  while (begin < query.size()) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string_view pair = query.substr(begin, end - begin);
    if (pair.substr(0, name.size() + 1) == name + "=") {
      return std::string(pair.substr(name.size() + 1));
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

/// The body of a watch: lines as the server has them.
class LampTransport::Stream final : public net::ResponseStream {
 public:
  Stream(LampTransport& transport, net::HttpResponse answer)
      : transport_(transport), news_(transport.news_), answer_(std::move(answer)) {}

  int status() const override { return answer_.status; }
  const net::Headers& headers() const override { return answer_.headers; }
  net::Task<Result<std::string>> read(Duration idle_timeout) override;
  void cancel() override {
    is_cancelled_ = true;
    news_->notify();
  }

 private:
  std::optional<Result<std::string>> next();

  LampTransport& transport_;
  std::shared_ptr<net::Notify> news_;
  net::HttpResponse answer_;  ///< its body only when it is a refusal
  bool is_cut_ = false;
  bool is_silent_ = false;
  bool is_cancelled_ = false;
};

std::optional<Result<std::string>> LampTransport::Stream::next() {
  Faults& trouble = transport_.faults;
  if (is_cancelled_) return Error{Code::kCancelled, "cancelled"};
  if (answer_.status != 200) return std::exchange(answer_.body, {});
  if (is_cut_ || trouble.is_down) return data_loss("cut");
  if (trouble.ends_at_once) return std::string();
  is_silent_ = is_silent_ || trouble.is_silent;  // a connection that went dark stays dark
  if (is_silent_) return std::nullopt;
  if (trouble.instead_of_next_line) {
    is_cut_ = trouble.cuts_after_that;
    std::string line = *std::exchange(trouble.instead_of_next_line, std::nullopt);
    return line;
  }
  const auto event = transport_.server_.next_event();
  if (!event) return std::nullopt;
  return line_of(*event);
}

net::Task<Result<std::string>> LampTransport::Stream::read(Duration idle_timeout) {
  const TimePoint deadline = transport_.clock_.now() + idle_timeout;
  while (true) {
    if (auto piece = next()) co_return *std::move(piece);
    const Duration left = deadline - transport_.clock_.now();
    if (left <= Duration::zero()) co_return Error{Code::kDeadlineExceeded, "nothing came"};
    co_await news_->wait(left);
  }
}

std::optional<net::HttpResponse> LampTransport::refusal() const {
  if (faults.refuse_status == 0) return std::nullopt;
  net::HttpResponse response = {.status = faults.refuse_status, .body = "{}"};
  if (!faults.retry_after.empty()) response.headers.set("Retry-After", faults.retry_after);
  return response;
}

WatchDeed LampTransport::deed_of(const net::HttpRequest& request) const {
  const std::string_view query = request.query();
  const std::string limit = parameter(query, "limit");
  return {.resource_version = parameter(query, "resourceVersion"),
          .limit = limit.empty() ? 0 : std::stoll(limit),
          .continue_token = parameter(query, "continue"),
          .send_initial_events = parameter(query, "sendInitialEvents") == "true"};
}

net::Task<Result<net::HttpResponse>> LampTransport::call(net::HttpRequest request, Duration,
                                                         std::size_t) {
  const WatchDeed deed = deed_of(request);
  requests.push_back(std::move(request));
  co_await net::sleep_for(std::chrono::milliseconds(5));
  if (faults.is_down) co_return unavailable("connection refused");
  if (auto refused = refusal()) co_return *std::move(refused);
  Result<kube::ObjectPage> page = server_.list(deed);
  if (!page) co_return response_of(page.error());
  Json list = {{"kind", "LampList"}, {"items", page->items}};
  list["metadata"] = {{"resourceVersion", page->resource_version},
                      {"continue", page->continue_token}};
  co_return net::HttpResponse{.body = dump_json(list)};
}

net::Task<Result<std::unique_ptr<net::ResponseStream>>> LampTransport::open(
    net::HttpRequest request, Duration) {
  const WatchDeed deed = deed_of(request);
  requests.push_back(std::move(request));
  co_await net::sleep_for(std::chrono::milliseconds(5));
  if (faults.is_down) co_return unavailable("connection refused");
  net::HttpResponse answer;
  if (auto refused = refusal()) {
    answer = *std::move(refused);
  } else if (const Status opened = server_.open(deed); !opened.ok()) {
    answer = response_of(opened.error());
  }
  std::unique_ptr<net::ResponseStream> stream = std::make_unique<Stream>(*this, std::move(answer));
  co_return stream;
}

}  // namespace kantha::runtime
