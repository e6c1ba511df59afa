#include "cli/cluster_session.h"

#include <algorithm>
#include <utility>

#include "base/net/task.h"

#include <CLI/App.hpp>
#include <boost/asio/io_context.hpp>

#include "cli/blocking_task.h"
#include "operator/kube/api_client.h"
#include "operator/kube/api_fault.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport_factory.h"
#include "operator/serving/children.h"
#include "operator/serving/pod_object.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kPodsAskedMax = 5;  ///< of which events are read

net::Task<Result<std::vector<Json>>> list_all(kube::ApiClient& client, kube::Resource resource,
                                              std::string name_space, std::string selector) {
  std::vector<Json> out;
  kube::ListOptions options;
  options.label_selector = std::move(selector);
  do {
    Result<kube::ObjectPage> page = co_await client.list(resource, name_space, options);
    if (!page.ok()) co_return std::move(page).error();
    for (Json& item : page->items) {
      if (item.is_object() && item.contains("metadata") && item["metadata"].is_object()) {
        item["metadata"].erase("managedFields");
        out.push_back(std::move(item));
      }
    }
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  co_return out;
}

std::string uid_of(const Json& object) {
  const Json::json_pointer path("/metadata/uid");
  return object.contains(path) && object.at(path).is_string() ? object.at(path).get<std::string>()
                                                              : std::string();
}

bool is_ready_pod(const Json& pod) {
  const Result<serving::PodObject> seen = serving::pod_object_from_json(pod);
  return seen.ok() && seen->ready;
}

std::string time_of(const Json& event) {
  for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    const auto found = event.find(field);
    if (found != event.end() && found->is_string()) return found->get<std::string>();
  }
  return {};
}

net::Task<void> add_events(kube::ApiClient& client, std::string name_space, std::string uid,
                           std::vector<Json>& out) {
  const std::string path = kube::kEvents.collection_path(name_space) +
                           "?limit=100&fieldSelector=involvedObject.uid%3D" + uid;
  const Result<std::string> text = co_await client.get_raw(path);
  if (!text.ok()) co_return;  // events are a courtesy: who may not read them sees none
  const Result<Json> list = parse_json(*text);
  if (!list.ok() || !list->is_object() || !list->contains("items")) co_return;
  for (const Json& event : (*list)["items"]) {
    const Json::json_pointer about("/involvedObject/uid");
    if (event.is_object() && event.contains(about) && event.at(about) == uid) out.push_back(event);
  }
}

}  // namespace

void add_cluster_flags(CLI::App& verb, ClusterFlags& flags, bool with_all) {
  verb.add_option("--kubeconfig", flags.kubeconfig, "Look into the cluster of this kubeconfig");
  verb.add_option("--context", flags.context, "Context of the kubeconfig; default: its current");
  CLI::Option* name_space = verb.add_option("-n,--namespace", flags.name_space,
                                            "Namespace; default: that of the context");
  if (!with_all) return;
  verb.add_flag("-A,--all-namespaces", flags.all_namespaces, "All namespaces of the cluster")
      ->excludes(name_space);
}

struct ClusterSession::Body {
  explicit Body(kube::ClusterConfig given) : config(std::move(given)) {}

  Status connect() {
    TRY(transport, kube::make_transport(kube::TransportKind::kBeast, context.get_executor(),
                                        system_clock(), config));
    client = std::make_unique<kube::ApiClient>(*transport, limiter, metrics);
    return ok_status();
  }

  net::Task<Result<ClusterReading>> read(std::string name, bool with_events) {
    ClusterReading out;
    Result<Json> object = co_await client->get(kube::kModelServings, {name_space, name});
    if (!object.ok()) co_return std::move(object).error();
    out.object = std::move(object).value();
    if (out.object.contains("metadata")) out.object["metadata"].erase("managedFields");
    Result<std::vector<Json>> pods = co_await list_all(
        *client, kube::kPods, name_space, std::string(serving::kLabelName) + "=" + name);
    if (!pods.ok()) co_return std::move(pods).error();
    out.pods = std::move(pods).value();
    if (with_events) co_await read_events(out);
    co_return out;
  }

  net::Task<void> read_events(ClusterReading& out) {
    co_await add_events(*client, name_space, uid_of(out.object), out.events);
    std::size_t asked = 0;
    for (const Json& pod : out.pods) {
      if (is_ready_pod(pod) || asked++ >= kPodsAskedMax) continue;
      co_await add_events(*client, name_space, uid_of(pod), out.events);
    }
    std::sort(out.events.begin(), out.events.end(),
              [](const Json& a, const Json& b) { return time_of(a) < time_of(b); });
  }

  Status merge(const std::string& name, const Json& body, const std::string& subresource,
               const std::string& where) {
    kube::PatchOptions options;
    options.kind = kube::PatchKind::kMerge;
    options.subresource = subresource;
    Result<Json> done = run_blocking(
        context, client->patch(kube::kModelServings, {name_space, name}, dump_json(body), options));
    if (done.ok()) return ok_status();
    if (kube::fault_of(done.error()) == kube::ApiFault::kNotFound) {
      return not_found("no ModelServing \"" + name + "\" at " + where);
    }
    return std::move(done).error().with_context(where);
  }

  boost::asio::io_context context{1};
  kube::ClusterConfig config;
  std::string name_space;
  MetricRegistry metrics;
  kube::RateLimiter limiter{system_clock(), 0, 1};
  std::unique_ptr<kube::Transport> transport;
  std::unique_ptr<kube::ApiClient> client;
};

ClusterSession::ClusterSession(std::unique_ptr<Body> body) : body_(std::move(body)) {}

ClusterSession::~ClusterSession() = default;

Result<std::unique_ptr<ClusterSession>> ClusterSession::open(const ClusterFlags& flags) {
  TRY(kube::ClusterConfig config, kube::find_cluster_config(flags.kubeconfig, flags.context));
  auto body = std::make_unique<Body>(std::move(config));
  if (!flags.all_namespaces) {
    body->name_space = flags.name_space.empty() ? body->config.name_space : flags.name_space;
  }
  TRY_OK(body->connect());
  return std::unique_ptr<ClusterSession>(new ClusterSession(std::move(body)));
}

const std::string& ClusterSession::name_space() const { return body_->name_space; }

std::string ClusterSession::description() const {
  const std::string where =
      body_->name_space.empty() ? "all namespaces" : "namespace " + body_->name_space;
  return body_->config.server + " (" + body_->config.source + ", " + where + ")";
}

Result<std::vector<Json>> ClusterSession::list() {
  Result<std::vector<Json>> out = run_blocking(
      body_->context, list_all(*body_->client, kube::kModelServings, body_->name_space, ""));
  if (!out.ok()) return std::move(out).error().with_context(description());
  return out;
}

Result<ClusterReading> ClusterSession::read(const std::string& name, bool with_events) {
  Result<ClusterReading> out = run_blocking(body_->context, body_->read(name, with_events));
  if (out.ok()) return out;
  if (kube::fault_of(out.error()) == kube::ApiFault::kNotFound) {
    return not_found("no ModelServing \"" + name + "\" at " + description());
  }
  return std::move(out).error().with_context(description());
}

Status ClusterSession::scale(const std::string& name, std::int64_t replicas) {
  return body_->merge(name, {{"spec", {{"replicas", replicas}}}}, "scale", description());
}

Status ClusterSession::patch(const std::string& name, const Json& body) {
  return body_->merge(name, body, "", description());
}

}  // namespace kantha::cli
