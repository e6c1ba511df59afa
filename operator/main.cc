#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/log.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "base/rng.h"
#include "base/version.h"
#include "operator/cluster/cluster_operator.h"
#include "operator/cluster/finalizer_release.h"
#include "operator/cluster/http_pages.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport_factory.h"
#include "operator/metricsapi/metrics_server.h"
#include "operator/options.h"

namespace kantha {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

/// Ours among the candidates for the lease: the pod's name and a random part.
std::string identity() {
  const char* pod = std::getenv("POD_NAME");
  const char* host = std::getenv("HOSTNAME");
  const char* name = pod != nullptr ? pod : host;
  return std::string(name == nullptr || *name == '\0' ? "kantha-operator" : name) + "_" +
         std::to_string(entropy_seed() & 0xFFFF'FFFFu);
}

/// One process: the operator, its pages and its signals on one thread.
class OperatorProgram {
 public:
  OperatorProgram(boost::asio::io_context& context, OperatorOptions options,
                  std::unique_ptr<kube::Transport> transport)
      : options_(std::move(options)),
        transport_(std::move(transport)),
        limiter_(system_clock(), 0, 1),
        client_(*transport_, limiter_, metrics_),
        door_(context.get_executor(), client_),
        activators_(activator_door(context)),
        operator_(context.get_executor(), system_clock(), *transport_, door_, metrics_,
                  options_.settings, entropy_seed(), activators_.get()),
        server_(context.get_executor(),
                [this](net::HttpRequest request, net::ResponseWriter& writer) {
                  return answer(std::move(request), writer);
                }),
        signals_(context, SIGTERM, SIGINT),
        tasks_(context.get_executor(), "program"),
        metrics_tasks_(context.get_executor(), "metrics API") {
    if (!options_.metrics_api) return;
    metrics_api_ = std::make_unique<metricsapi::MetricsServer>(
        context.get_executor(), system_clock(), client_, operator_.samples(), *options_.metrics_api,
        [this] { return operator_.is_ready(); });
  }

  Status start() {
    TRY(const net::Endpoint bound, server_.listen(options_.listen));
    log_info("pages are served", {{"listen", bound.to_string()}});
    if (metrics_api_) {
      Result<net::Endpoint> served = metrics_api_->start();
      if (!served.ok()) return std::move(served).error().with_context("--metrics-listen");
      log_info("metrics API is served", {{"listen", served->to_string()}});
      metrics_tasks_.spawn(metrics_api_->run());
    }
    wait_for_signal();
    tasks_.spawn(run());
    return ok_status();
  }

  bool lost_lease() const { return operator_.lost_lease(); }

 private:
  std::unique_ptr<cluster::ActivatorDoor> activator_door(boost::asio::io_context& context) {
    if (!options_.activators) return nullptr;
    return std::make_unique<cluster::HttpActivatorDoor>(context.get_executor(), client_,
                                                        *options_.activators);
  }

  net::Task<void> run() {
    co_await operator_.run();
    signals_.cancel();
    if (metrics_api_) metrics_api_->stop();
    co_await metrics_tasks_.join();
    server_.close();
    transport_->close();
  }

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    const cluster::PageSource source{[this] { return operator_.is_ready(); },
                                     [this] { return operator_.debug_view(); }, metrics_,
                                     [this] { return operator_.rollout_series(); }};
    net::HttpResponse response = cluster::answer_page(request, source);
    const Status sent = co_await writer.send(std::move(response));
    if (!sent.ok()) log_debug("page not read", {{"error", sent.error().to_string()}});
  }

  void wait_for_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int number) {
      if (error) return;
      log_info("asked to end", {{"signal", number}});
      operator_.stop();
      wait_for_signal();
    });
  }

  OperatorOptions options_;
  std::unique_ptr<kube::Transport> transport_;
  MetricRegistry metrics_;
  kube::RateLimiter limiter_;
  kube::ApiClient client_;  ///< for the tokens of the pods' doors
  cluster::HttpPodDoor door_;
  std::unique_ptr<cluster::ActivatorDoor> activators_;  ///< null: there are none
  cluster::ClusterOperator operator_;
  net::HttpServer server_;
  std::unique_ptr<metricsapi::MetricsServer> metrics_api_;
  boost::asio::signal_set signals_;
  net::TaskGroup tasks_;
  net::TaskGroup metrics_tasks_;
};

int fail(const Error& error) {
  std::fprintf(stderr, "kantha-operator: %s\n", error.message.c_str());
  return kExitFailed;
}

int serve(OperatorOptions options) {
  const Result<kube::ClusterConfig> config =
      kube::find_cluster_config(options.kubeconfig, options.context);
  if (!config.ok()) return fail(config.error());
  if (options.settings.lease.name_space.empty()) {
    options.settings.lease.name_space = config->name_space;
  }
  options.settings.identity = identity();
  boost::asio::io_context context(1);
  Result<std::unique_ptr<kube::Transport>> transport =
      kube::make_transport(options.transport, context.get_executor(), system_clock(), *config);
  if (!transport.ok()) return fail(transport.error());
  log_info(
      "starting",
      {{"version", std::string(version())}, {"server", config->server}, {"from", config->source}});
  OperatorProgram program(context, std::move(options), std::move(transport).value());
  if (const Status started = program.start(); !started.ok()) return fail(started.error());
  context.run();
  // Lets tasks that ended in the last turn report it to their owners.
  context.restart();
  context.poll();
  if (program.lost_lease()) {
    log_error("the lease is lost; another operator may lead");
    return kExitFailed;
  }
  return kExitDone;
}

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

cluster::FinalizerRelease release_of(const OperatorOptions& options, const std::string& home) {
  const std::string& given = options.settings.lease.name_space;
  const std::string& name_space = given.empty() ? home : given;
  cluster::FinalizerRelease out;
  out.namespaces = options.settings.namespaces;
  out.patience = options.patience;
  if (!options.deployment.empty()) out.deployment = {name_space, options.deployment};
  if (options.settings.leader_elect) out.lease = {name_space, options.settings.lease.name};
  return out;
}

net::Task<void> store_release(kube::Transport& transport, cluster::FinalizerRelease what,
                              Status& out) {
  MetricRegistry metrics;
  kube::RateLimiter limiter(system_clock(), 50, 50);
  kube::ApiClient client(transport, limiter, metrics);
  out = co_await cluster::release_finalizers(client, system_clock(), std::move(what), print_line);
  transport.close();
}

int release(OperatorOptions options) {
  const Result<kube::ClusterConfig> config =
      kube::find_cluster_config(options.kubeconfig, options.context);
  if (!config.ok()) return fail(config.error());
  boost::asio::io_context context(1);
  Result<std::unique_ptr<kube::Transport>> transport =
      kube::make_transport(options.transport, context.get_executor(), system_clock(), *config);
  if (!transport.ok()) return fail(transport.error());
  net::TaskGroup tasks(context.get_executor(), "release");
  Status out = internal_error("the call was given up");
  tasks.spawn(store_release(**transport, release_of(options, config->name_space), out));
  context.run();
  context.restart();
  context.poll();
  return out.ok() ? kExitDone : fail(out.error());
}

int run(int argc, const char* const* argv) {
  std::string help;
  Result<OperatorOptions> options = parse_operator_options(argc, argv, help);
  if (!options.ok()) {
    std::fprintf(stderr, "kantha-operator: %s\n", options.error().message.c_str());
    return kExitUsage;
  }
  if (!help.empty() || options->show_version) {
    std::printf("%s\n", help.empty() ? std::string(version()).c_str() : help.c_str());
    return kExitDone;
  }
  set_log_level(options->log_level);
  return options->command == OperatorCommand::kReleaseFinalizers
             ? release(std::move(options).value())
             : serve(std::move(options).value());
}

}  // namespace
}  // namespace kantha

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  kantha::set_log_program("operator");
  return kantha::run(argc, argv);
}
