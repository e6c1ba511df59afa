#include "operator/options.h"

#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>

#include "base/command_line.h"

namespace kantha {
namespace {

/// What the flags hold before they are judged.
struct RawFlags {
  std::string listen = "127.0.0.1:8080";
  std::string transport = "cpprest";
  std::string log_level = "info";
  std::string autoscaler = "law";
  int patience_seconds = 100;
  std::string metrics_listen;
  std::string metrics_certificate;
  std::string metrics_key;
  bool metrics_external = false;
  std::string activator_service;
  std::string activator_token;
};

/// Autoscaling and the API that an HPA asks.
void add_scaling_flags(CLI::App& app, RawFlags& raw) {
  app.add_option("--autoscaler", raw.autoscaler,
                 "Who acts on spec.autoscaling: law (the operator itself) or hpa (an HPA that it "
                 "makes, which asks the metrics API)")
      ->check(CLI::IsMember({"law", "hpa"}))
      ->capture_default_str();
  app.add_option("--metrics-listen", raw.metrics_listen,
                 "Where custom.metrics.k8s.io is served, over TLS; default: nowhere");
  app.add_option("--metrics-cert-file", raw.metrics_certificate,
                 "Its certificate (PEM), for the Service that the APIService names");
  app.add_option("--metrics-key-file", raw.metrics_key, "The key of it (PEM)");
  app.add_flag("--metrics-external", raw.metrics_external,
               "Serve external.metrics.k8s.io there, too: sums over a ModelServing's pods");
  app.add_option("--activator-service", raw.activator_service,
                 "NAMESPACE/NAME of the Service of kantha-noded --activator, which objects with "
                 "minReplicas 0 need; default: none");
  app.add_option("--activator-token-file", raw.activator_token,
                 "File with the token of the activators' admin API");
}

void add_flags(CLI::App& app, OperatorOptions& options, RawFlags& raw) {
  cluster::OperatorSettings& settings = options.settings;
  app.add_option("--kubeconfig", options.kubeconfig,
                 "Kubeconfig file; default: $KUBECONFIG, the pod's own account, ~/.kube/config");
  app.add_option("--context", options.context, "Context of the kubeconfig; default: its current");
  app.add_option("--namespace", settings.namespaces,
                 "Serve only objects in this namespace; may be given again; default: all");
  app.add_flag("--leader-elect", settings.leader_elect, "Write only while holding the lease");
  app.add_option("--lease-name", settings.lease.name, "Name of the Lease")->capture_default_str();
  app.add_option("--lease-namespace", settings.lease.name_space,
                 "Namespace of the Lease; default: that of the pod or context");
  app.add_option("--noded-image", settings.pods.noded_image, "Image of container noded");
  app.add_option("--engine-image", settings.pods.engine_image,
                 "Image of container engine, where spec.engine.image is not set");
  app.add_option("--image-pull-policy", settings.pods.image_pull_policy,
                 "Of both containers; default: Kubernetes' rule")
      ->check(CLI::IsMember({"Always", "IfNotPresent", "Never"}));
  app.add_option("--model-cache-host-path", settings.pods.model_cache_host_path,
                 "Folder of every node for fetched weights (source http), writable for user 65532; "
                 "default: each pod fetches into a volume of its own")
      ->check([](const std::string& path) {
        return path.starts_with('/') ? std::string() : "expected an absolute path, got " + path;
      });
  app.add_option("--model-cache-quota", settings.pods.model_cache_quota_bytes,
                 "Bytes that this folder may hold; 0: as much as its disk")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60));
  app.add_option("--image-pull-secret", settings.pods.image_pull_secrets,
                 "Secret for pulling images, in each object's namespace; may be given again");
  app.add_option("--listen", raw.listen, "Where /live /ready /metrics /debug/state are")
      ->capture_default_str();
  add_scaling_flags(app, raw);
  app.add_option("--workers", settings.workers, "Objects worked on at one time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--qps", settings.calls_per_second,
                 "Calls a second to the API server; 0: no limit")
      ->check(CLI::Range(0.0, 100'000.0))
      ->capture_default_str();
  app.add_option("--burst", settings.calls_burst, "Calls at once")
      ->check(CLI::Range(1.0, 100'000.0))
      ->capture_default_str();
  app.add_option("--transport", raw.transport, "HTTP client: cpprest or beast")
      ->check(CLI::IsMember({"cpprest", "beast"}))
      ->capture_default_str();
  app.add_option("--log-level", raw.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_flag("--version", options.show_version, "Print the version and exit");
}

CLI::App* add_release(CLI::App& app, OperatorOptions& options, RawFlags& raw) {
  CLI::App* release = app.add_subcommand(
      "release-finalizers",
      "Before an uninstall: end the operator, take its finalizer off every ModelServing and delete "
      "its Lease (the latter with --leader-elect); the operator's other flags mean the same");
  release->add_option("--deployment", options.deployment,
                      "The operator's own, in --lease-namespace; it is scaled to 0");
  release->add_option("--timeout", raw.patience_seconds, "Seconds to wait for the operator's end")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  release->fallthrough();
  return release;
}

/// A DNS label, as namespaces and leases are called.
Status check_name(const char* flag, const std::string& value) {
  const bool clean = std::all_of(value.begin(), value.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '-' || c == '.';
  });
  if (!value.empty() && value.size() <= 253 && clean) return ok_status();
  return invalid_argument(std::string(flag) + ": expected a name of a-z, 0-9, '-' and '.', got \"" +
                          value + "\"");
}

Status check(const OperatorOptions& options) {
  const cluster::OperatorSettings& settings = options.settings;
  for (const std::string& name : settings.namespaces) TRY_OK(check_name("--namespace", name));
  TRY_OK(check_name("--lease-name", settings.lease.name));
  if (!settings.lease.name_space.empty()) {
    TRY_OK(check_name("--lease-namespace", settings.lease.name_space));
  }
  if (options.command == OperatorCommand::kReleaseFinalizers) {
    return options.deployment.empty() ? ok_status()
                                      : check_name("--deployment", options.deployment);
  }
  if (settings.pods.noded_image.empty()) return invalid_argument("--noded-image: required");
  if (settings.pods.engine_image.empty()) return invalid_argument("--engine-image: required");
  return ok_status();
}

Status read_scaling(const RawFlags& raw, OperatorOptions& options) {
  options.settings.autoscaler =
      raw.autoscaler == "hpa" ? cluster::Autoscaler::kHpa : cluster::Autoscaler::kLaw;
  if (raw.metrics_listen.empty()) {
    if (raw.metrics_external) {
      return invalid_argument("--metrics-listen: required with --metrics-external");
    }
    if (raw.metrics_certificate.empty() && raw.metrics_key.empty()) return ok_status();
    return invalid_argument("--metrics-listen: required with --metrics-cert-file");
  }
  if (raw.metrics_certificate.empty() || raw.metrics_key.empty()) {
    return invalid_argument("--metrics-listen: needs --metrics-cert-file and --metrics-key-file");
  }
  metricsapi::MetricsServerOptions served;
  TRY(served.listen, net::parse_endpoint(raw.metrics_listen));
  served.certificate_file = raw.metrics_certificate;
  served.key_file = raw.metrics_key;
  served.has_external = raw.metrics_external;
  options.metrics_api = std::move(served);
  options.settings.serves_metrics = true;
  return ok_status();
}

Status read_activators(const RawFlags& raw, OperatorOptions& options) {
  if (raw.activator_service.empty()) {
    if (raw.activator_token.empty()) return ok_status();
    return invalid_argument("--activator-service: required with --activator-token-file");
  }
  const std::size_t slash = raw.activator_service.find('/');
  if (slash == std::string::npos) {
    return invalid_argument("--activator-service: expected NAMESPACE/NAME, got \"" +
                            raw.activator_service + "\"");
  }
  cluster::ActivatorPlace place;
  place.service = {raw.activator_service.substr(0, slash), raw.activator_service.substr(slash + 1)};
  TRY_OK(check_name("--activator-service", place.service.name_space));
  TRY_OK(check_name("--activator-service", place.service.name));
  if (raw.activator_token.empty()) {
    return invalid_argument("--activator-service: needs --activator-token-file");
  }
  place.token_file = raw.activator_token;
  options.activators = std::move(place);
  return ok_status();
}

}  // namespace

Result<OperatorOptions> parse_operator_options(int argc, const char* const* argv,
                                               std::string& help) {
  OperatorOptions options;
  options.settings.lease.name_space.clear();
  RawFlags raw;
  CLI::App app{"kantha-operator: makes ModelServing objects of a Kubernetes cluster into pods"};
  add_flags(app, options, raw);
  const CLI::App* release = add_release(app, options, raw);
  TRY_OK(parse_command_line(app, argc, argv, help));
  if (!help.empty() || options.show_version) return options;
  if (release->parsed()) options.command = OperatorCommand::kReleaseFinalizers;
  options.patience = std::chrono::seconds(raw.patience_seconds);
  TRY_OK(check(options));
  Result<net::Endpoint> listen = net::parse_endpoint(raw.listen);
  if (!listen.ok()) return std::move(listen).error().with_context("--listen");
  options.listen = *listen;
  TRY_OK(read_scaling(raw, options));
  TRY_OK(read_activators(raw, options));
  options.transport = kube::transport_kind_of(raw.transport).value_or(options.transport);
  parse_log_level(raw.log_level, options.log_level);
  return options;
}

}  // namespace kantha
