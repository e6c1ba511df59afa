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
#include "operator/cluster/http_pages.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport_factory.h"
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
        operator_(context.get_executor(), system_clock(), *transport_, door_, metrics_,
                  options_.settings, entropy_seed()),
        server_(context.get_executor(),
                [this](net::HttpRequest request, net::ResponseWriter& writer) {
                  return answer(std::move(request), writer);
                }),
        signals_(context, SIGTERM, SIGINT),
        tasks_(context.get_executor(), "program") {}

  Status start() {
    TRY(const net::Endpoint bound, server_.listen(options_.listen));
    log_info("pages are served", {{"listen", bound.to_string()}});
    wait_for_signal();
    tasks_.spawn(run());
    return ok_status();
  }

  bool lost_lease() const { return operator_.lost_lease(); }

 private:
  net::Task<void> run() {
    co_await operator_.run();
    signals_.cancel();
    server_.close();
    transport_->close();
  }

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    const cluster::PageSource source{[this] { return operator_.is_ready(); },
                                     [this] { return operator_.debug_state(); }, metrics_};
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
  cluster::ClusterOperator operator_;
  net::HttpServer server_;
  boost::asio::signal_set signals_;
  net::TaskGroup tasks_;
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
  return serve(std::move(options).value());
}

}  // namespace
}  // namespace kantha

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  kantha::set_log_program("operator");
  return kantha::run(argc, argv);
}
