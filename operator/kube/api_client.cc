#include "operator/kube/api_client.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_text.h"
#include "base/version.h"
#include "operator/kube/api_query.h"
#include "operator/kube/lean_text.h"

namespace kantha::kube {
namespace {

/// A page of 500 objects with their managed fields.
constexpr JsonLimits kPageLimits = {.nodes_max = 4'000'000, .bytes_max = 64u << 20};
constexpr JsonLimits kObjectLimits = {.nodes_max = 400'000, .bytes_max = 8u << 20};
/// Of the body of an answer that refuses a watch.
constexpr std::size_t kRefusalBytesMax = 64u << 10;
/// Longest that one throttled call holds back the others; its own caller waits as long as it was
/// told. Leases are renewed through the same limiter.
constexpr Duration kSharedPauseMax = std::chrono::seconds(1);

Error malformed(std::string message) {
  return {Code::kDataLoss, std::move(message), {}, std::string(fault_name(ApiFault::kMalformed))};
}

Error with_place(Error error, std::string_view verb, std::string_view target) {
  return std::move(error).with_context(std::string(verb) + " " +
                                       std::string(target.substr(0, target.find('?'))));
}

/// Of the metadata in answers to writes: what was written is known.
constexpr std::array<std::string_view, 2> kUnreadOfWrites = {"annotations", "ownerReferences"};

MemberNames unread_of(Content answer) {
  return answer == Content::kMetadata ? MemberNames(kUnreadOfWrites) : MemberNames();
}

Result<Json> json_of(const net::HttpResponse& response, const JsonLimits& limits,
                     MemberNames unread = {}) {
  std::string room;
  Result<Json> json = parse_json(without_members(response.body, unread, room), limits);
  if (!json) return malformed("the answer is no JSON: " + json.error().message);
  if (!json->is_object()) return malformed("the answer is no JSON object");
  return json;
}

Result<ObjectPage> page_of(Json json) {
  ObjectPage page = {.items = {},
                     .resource_version = text_at(json, "metadata", "resourceVersion"),
                     .continue_token = text_at(json, "metadata", "continue")};
  if (page.resource_version.empty()) return malformed("a list without metadata.resourceVersion");
  const auto items = json.find("items");
  // An empty list of Go is null.
  if (items == json.end() || items->is_null()) return page;
  if (!items->is_array()) return malformed("a list whose items are no array");
  page.items.reserve(items->size());
  for (Json& item : *items) page.items.push_back(std::move(item));
  return page;
}

class ApiWatch final : public Watch {
 public:
  ApiWatch(std::unique_ptr<net::ResponseStream> stream, Counter& skipped, MemberNames unread)
      : stream_(std::move(stream)), decoder_(kObjectLimits.bytes_max, unread), skipped_(skipped) {}

  net::Task<Result<std::vector<WatchEvent>>> read(Duration idle_timeout) override;
  void cancel() override { stream_->cancel(); }

 private:
  std::unique_ptr<net::ResponseStream> stream_;
  WatchDecoder decoder_;
  Counter& skipped_;
};

net::Task<Result<std::vector<WatchEvent>>> ApiWatch::read(Duration idle_timeout) {
  while (true) {
    const Result<std::string> piece = co_await stream_->read(idle_timeout);
    if (!piece) co_return api_error_of_transport(piece.error());
    if (piece->empty()) {
      if (decoder_.pending_bytes() == 0) co_return std::vector<WatchEvent>{};
      co_return api_error_of_transport(data_loss("the watch ended inside an event"));
    }
    const std::size_t skipped_before = decoder_.skipped_count();
    Result<std::vector<WatchEvent>> events = decoder_.feed(*piece);
    skipped_.add(static_cast<double>(decoder_.skipped_count() - skipped_before));
    if (!events) co_return api_error_of_transport(std::move(events).error());
    if (!events->empty()) co_return events;
  }
}

/// Reads what an answer that is no success says, as far as it says it in time.
net::Task<Error> refusal_of(std::unique_ptr<net::ResponseStream> stream, Duration timeout) {
  net::HttpResponse response = {.status = stream->status(), .headers = stream->headers()};
  while (response.body.size() < kRefusalBytesMax) {
    const Result<std::string> piece = co_await stream->read(timeout);
    if (!piece || piece->empty()) break;
    response.body += *piece;
  }
  co_return api_error(response);
}

std::string patch_content_type(PatchKind kind) {
  switch (kind) {
    case PatchKind::kApply: return "application/apply-patch+yaml";
    case PatchKind::kMerge: return "application/merge-patch+json";
    case PatchKind::kJson: return "application/json-patch+json";
  }
  return {};
}

std::string delete_body(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"propagationPolicy", options.propagation},
               {"preconditions", {{"uid", options.uid}}}};
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  return dump_json(body);
}

/// Source: Kubernetes docs, "API Concepts", "Metadata-only fetches".
std::string accepted(Content content, std::string_view kind = "PartialObjectMetadata") {
  if (content == Content::kWhole) return "application/json";
  return "application/json;as=" + std::string(kind) + ";g=meta.k8s.io;v=v1,application/json;q=0.9";
}

net::HttpRequest request_of(std::string method, std::string target, std::string body = {},
                            std::string content_type = "application/json",
                            std::string accept = "application/json") {
  net::HttpRequest request = {
      .method = std::move(method), .target = std::move(target), .body = std::move(body)};
  request.headers.set("Accept", std::move(accept));
  // The server names the field manager of a create after what stands before the slash.
  request.headers.set("User-Agent", "kantha-operator/" + std::string(version()));
  if (!request.body.empty()) request.headers.set("Content-Type", std::move(content_type));
  return request;
}

const std::vector<double>& latency_bounds() {
  static const std::vector<double> bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                             0.25,  0.5,    1,     2.5,  5,     10,   15};
  return bounds;
}

}  // namespace

ApiClient::ApiClient(Transport& transport, RateLimiter& limiter, MetricRegistry& metrics)
    : transport_(transport),
      limiter_(limiter),
      metrics_(metrics),
      limiter_wait_(metrics.histogram(
          "kantha_operator_api_limiter_wait_seconds",
          "Time that calls of the API server waited for the operator's own rate limiter.", {},
          latency_bounds())) {}

net::Task<void> ApiClient::wait_for_turn() {
  const Duration waited = co_await limiter_.acquire();
  limiter_wait_.observe(std::chrono::duration<double>(waited).count());
}

void ApiClient::count(std::string_view verb, std::string_view plural, const std::string& code,
                      TimePoint begun) {
  std::string name = std::string(verb) + " " + std::string(plural) + " " + code;
  auto known = series_.find(name);
  if (known == series_.end()) {
    const MetricLabels call = {{"verb", std::string(verb)}, {"resource", std::string(plural)}};
    MetricLabels outcome = call;
    outcome.emplace_back("code", code);
    Counter& requests = metrics_.counter(
        "kantha_operator_api_requests_total",
        "Requests to the API server; code is the HTTP status, or the fault without one.", outcome);
    Histogram& seconds =
        metrics_.histogram("kantha_operator_api_request_seconds",
                           "Time from sending a request to its answer; of a watch, to its headers.",
                           call, latency_bounds());
    known = series_.emplace(std::move(name), Series{requests, seconds}).first;
  }
  known->second.requests.add();
  known->second.seconds.observe(
      std::chrono::duration<double>(limiter_.clock().now() - begun).count());
}

Error ApiClient::refused(Error error) {
  if (fault_of(error) == ApiFault::kThrottled) {
    const Duration told = std::chrono::milliseconds(error.retry_after_ms);
    limiter_.pause(std::min(told, kSharedPauseMax));
  }
  return error;
}

net::Task<Result<net::HttpResponse>> ApiClient::exchange(std::string_view verb,
                                                         std::string_view plural,
                                                         net::HttpRequest request) {
  co_await wait_for_turn();
  const TimePoint begun = limiter_.clock().now();
  const std::string method = request.method;
  const std::string target = request.target;
  Result<net::HttpResponse> answer =
      co_await transport_.call(std::move(request), call_timeout_, kPageLimits.bytes_max);
  if (!answer) {
    const Error error = api_error_of_transport(std::move(answer).error());
    count(verb, plural, error.reason, begun);
    co_return with_place(error, method, target);
  }
  count(verb, plural, std::to_string(answer->status), begun);
  if (answer->status / 100 == 2) co_return answer;
  co_return with_place(refused(api_error(*answer)), method, target);
}

net::Task<Result<Json>> ApiClient::get(Resource resource, ObjectKey key) {
  CO_TRY(const net::HttpResponse answer,
         co_await exchange("get", resource.plural, request_of("GET", resource.object_path(key))));
  co_return json_of(answer, kObjectLimits);
}

net::Task<Result<ObjectPage>> ApiClient::list(Resource resource, std::string name_space,
                                              ListOptions options) {
  std::string target = list_target(resource, name_space, options);
  net::HttpRequest request = request_of("GET", std::move(target));
  request.headers.set("Accept", accepted(options.content, "PartialObjectMetadataList"));
  CO_TRY(net::HttpResponse answer, co_await exchange("list", resource.plural, std::move(request)));
  CO_TRY(Json json, json_of(answer, kPageLimits, options.unread));
  co_return page_of(std::move(json));
}

net::Task<Result<std::unique_ptr<Watch>>> ApiClient::watch(Resource resource,
                                                           std::string name_space,
                                                           WatchOptions options) {
  co_await wait_for_turn();
  const TimePoint begun = limiter_.clock().now();
  net::HttpRequest request = request_of("GET", watch_target(resource, name_space, options));
  request.headers.set("Accept", accepted(options.content));
  const std::string target = request.target;
  Result<std::unique_ptr<net::ResponseStream>> opened =
      co_await transport_.open(std::move(request), call_timeout_);
  if (!opened) {
    const Error error = api_error_of_transport(std::move(opened).error());
    count("watch", resource.plural, error.reason, begun);
    co_return with_place(error, "WATCH", target);
  }
  std::unique_ptr<net::ResponseStream> stream = std::move(opened).value();
  count("watch", resource.plural, std::to_string(stream->status()), begun);
  if (stream->status() / 100 != 2) {
    Error error = co_await refusal_of(std::move(stream), call_timeout_);
    co_return with_place(refused(std::move(error)), "WATCH", target);
  }
  Counter& skipped = metrics_.counter(
      "kantha_operator_watch_skipped_total",
      "Lines of watches that were no event: malformed JSON, unknown type, or beyond a limit.",
      {{"resource", std::string(resource.plural)}});
  std::unique_ptr<Watch> watch =
      std::make_unique<ApiWatch>(std::move(stream), skipped, options.unread);
  co_return watch;
}

net::Task<Result<Json>> ApiClient::create(Resource resource, std::string name_space,
                                          std::string body, Content answer_content) {
  std::string target = resource.collection_path(name_space);
  CO_TRY(const net::HttpResponse answer,
         co_await exchange("create", resource.plural,
                           request_of("POST", std::move(target), std::move(body),
                                      "application/json", accepted(answer_content))));
  co_return json_of(answer, kObjectLimits, unread_of(answer_content));
}

net::Task<Result<Json>> ApiClient::patch(Resource resource, ObjectKey key, std::string body,
                                         PatchOptions options) {
  std::string target = patch_target(resource, key, options);
  const std::string_view verb = options.kind == PatchKind::kApply ? "apply" : "patch";
  CO_TRY(const net::HttpResponse answer,
         co_await exchange(verb, resource.plural,
                           request_of("PATCH", std::move(target), std::move(body),
                                      patch_content_type(options.kind), accepted(options.answer))));
  co_return json_of(answer, kObjectLimits, unread_of(options.answer));
}

net::Task<Result<Json>> ApiClient::replace(Resource resource, ObjectKey key, std::string body) {
  std::string target = resource.object_path(key);
  CO_TRY(const net::HttpResponse answer,
         co_await exchange("update", resource.plural,
                           request_of("PUT", std::move(target), std::move(body))));
  co_return json_of(answer, kObjectLimits);
}

net::Task<Status> ApiClient::remove(Resource resource, ObjectKey key, DeleteOptions options) {
  if (options.uid.empty()) {
    co_return Error{Code::kInvalidArgument, "a delete names the uid of what it deletes", "uid",
                    std::string(fault_name(ApiFault::kInvalid))};
  }
  CO_TRY(const net::HttpResponse answer,
         co_await exchange("delete", resource.plural,
                           request_of("DELETE", resource.object_path(key), delete_body(options))));
  co_return ok_status();
}

net::Task<Result<std::string>> ApiClient::get_raw(std::string path) {
  CO_TRY(net::HttpResponse answer,
         co_await exchange("get", "raw", request_of("GET", std::move(path))));
  co_return std::move(answer.body);
}

}  // namespace kantha::kube
