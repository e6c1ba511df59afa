#include "operator/metricsapi/metrics_server.h"

#include <utility>

#include "base/log.h"
#include "base/net/tls_context.h"
#include "base/whole_file.h"
#include "operator/metricsapi/delegated_auth.h"
#include "operator/metricsapi/discovery.h"
#include "operator/metricsapi/metric_values.h"

namespace kantha::metricsapi {
namespace {

const kube::ObjectKey kAuthConfigMap{"kube-system", "extension-apiserver-authentication"};
constexpr std::size_t kPemBytesMax = 1u << 20;

net::HttpResponse text_answer(int status, std::string text) {
  net::HttpResponse out;
  out.status = status;
  out.headers.set("Content-Type", "text/plain");
  out.body = std::move(text);
  return out;
}

net::HttpResponse refusal_of(const Error& error) {
  switch (error.code) {
    case Code::kUnauthenticated: return failure_answer(401, "Unauthorized", error.message);
    case Code::kPermissionDenied: return failure_answer(403, "Forbidden", error.message);
    case Code::kInvalidArgument: return failure_answer(400, "BadRequest", error.message);
    default: return failure_answer(500, "InternalError", error.message);
  }
}

bool is_health(const std::string& path) {
  return path == "/livez" || path == "/readyz" || path == "/healthz";
}

}  // namespace

struct MetricsServer::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, kube::ApiClient& client,
       const MetricTable& table, MetricsServerOptions given, std::function<bool()> is_ready)
      : clock(clock),
        client(client),
        table(table),
        options(std::move(given)),
        is_ready(std::move(is_ready)),
        auth(clock, client),
        wake(executor),
        server(executor, [this](net::HttpRequest request, net::ResponseWriter& writer) {
          return serve(std::move(request), writer);
        }) {}

  /// Makes a TLS context of what the files and the ConfigMap hold now, if that is new.
  Status renew_tls() {
    net::TlsServerSettings wanted;
    TRY(wanted.certificate_pem, read_whole_file(options.certificate_file, kPemBytesMax));
    TRY(wanted.key_pem, read_whole_file(options.key_file, kPemBytesMax));
    wanted.client_ca_pem = auth.config().requestheader_ca_pem;
    wanted.is_client_ca_optional = true;
    if (wanted == in_use) return ok_status();
    TRY(std::shared_ptr<const net::TlsContext> context, net::TlsContext::for_server(wanted));
    server.set_tls(std::move(context));
    in_use = std::move(wanted);
    return ok_status();
  }

  net::Task<void> read_auth_config() {
    const Result<Json> config_map = co_await client.get(kube::kConfigMaps, kAuthConfigMap);
    Result<AuthConfig> config = config_map.ok() ? auth_config_from_json(*config_map)
                                                : Result<AuthConfig>(config_map.error());
    if (!config.ok()) {
      // What was known goes on; without it nobody but owners of tokens is known.
      if (!trouble_told)
        log_warn("who may ask for metrics can't be read", {{"error", config.error().message}});
      trouble_told = true;
      co_return;
    }
    trouble_told = false;
    auth.set_config(std::move(config).value());
  }

  net::Task<net::HttpResponse> answer(net::HttpRequest request, std::optional<std::string> peer) {
    const Result<ApiQuery> query = parse_api_query(request.target);
    if (!query.ok()) co_return refusal_of(query.error());
    if (is_health(query->path)) {
      const bool well = query->path == "/livez" || is_ready();
      co_return text_answer(well ? 200 : 503, well ? "ok" : "the cluster is not in view yet");
    }
    Result<User> user = co_await auth.authenticate(request, peer);
    if (!user.ok()) co_return refusal_of(user.error());
    const Status allowed = co_await auth.authorize(std::move(user).value(), *query);
    if (!allowed.ok()) co_return refusal_of(allowed.error());
    if (request.method != "GET") {
      net::HttpResponse refused = failure_answer(405, "MethodNotAllowed", "only GET");
      refused.headers.set("Allow", "GET");
      co_return refused;
    }
    const bool is_served = !query->is_external() || options.has_external;
    if (query->is_metric() && is_served) {
      if (!accepts_json(request)) {
        co_return failure_answer(406, "NotAcceptable", "only application/json can be given");
      }
      const Instant at{clock.now(), clock.wall_now()};
      co_return query->is_external() ? answer_external(*query, table, at)
                                     : answer_metric(*query, table, at);
    }
    auto document = answer_discovery(request, query->path, options.has_external);
    if (document) co_return *std::move(document);
    co_return failure_answer(404, "NotFound", "there is nothing at " + query->path);
  }

  net::Task<void> serve(net::HttpRequest request, net::ResponseWriter& writer) {
    net::HttpResponse response = co_await answer(std::move(request), writer.tls_peer());
    ++answered;
    const Status sent = co_await writer.send(std::move(response));
    if (!sent.ok()) log_debug("metric not read", {{"error", sent.error().to_string()}});
  }

  net::Task<void> run() {
    while (!stopping) {
      co_await read_auth_config();
      const Status renewed = renew_tls();
      if (!renewed.ok()) {
        log_warn("the old certificate goes on", {{"error", renewed.error().to_string()}});
      }
      if (!stopping) co_await wake.wait(options.look_every);
    }
    server.close();
  }

  const Clock& clock;
  kube::ApiClient& client;
  const MetricTable& table;
  MetricsServerOptions options;
  std::function<bool()> is_ready;
  DelegatedAuth auth;
  net::Notify wake;
  net::HttpServer server;
  net::TlsServerSettings in_use;
  std::int64_t answered = 0;
  bool stopping = false;
  bool trouble_told = false;
};

MetricsServer::MetricsServer(boost::asio::any_io_executor executor, const Clock& clock,
                             kube::ApiClient& client, const MetricTable& table,
                             MetricsServerOptions options, std::function<bool()> is_ready)
    : body_(std::make_unique<Body>(std::move(executor), clock, client, table, std::move(options),
                                   std::move(is_ready))) {}

MetricsServer::~MetricsServer() = default;

Result<net::Endpoint> MetricsServer::start() {
  TRY_OK(body_->renew_tls());
  return body_->server.listen(body_->options.listen);
}

net::Task<void> MetricsServer::run() { return body_->run(); }

void MetricsServer::stop() {
  body_->stopping = true;
  body_->wake.notify();
}

std::int64_t MetricsServer::answered_count() const { return body_->answered; }
std::int64_t MetricsServer::review_count() const { return body_->auth.review_count(); }

}  // namespace kantha::metricsapi
