#include "operator/options.h"

#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>

namespace kantha {
namespace {

/// What the flags hold before they are judged.
struct RawFlags {
  std::string listen = "127.0.0.1:8080";
  std::string transport = "cpprest";
  std::string log_level = "info";
};

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
  if (settings.pods.noded_image.empty()) return invalid_argument("--noded-image: required");
  if (settings.pods.engine_image.empty()) return invalid_argument("--engine-image: required");
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    help = app.help();
    return options;
  } catch (const CLI::ParseError& error) {
    return invalid_argument(error.what());
  }
  if (options.show_version) return options;
  TRY_OK(check(options));
  Result<net::Endpoint> listen = net::parse_endpoint(raw.listen);
  if (!listen.ok()) return std::move(listen).error().with_context("--listen");
  options.listen = *listen;
  options.transport = kube::transport_kind_of(raw.transport).value_or(options.transport);
  parse_log_level(raw.log_level, options.log_level);
  return options;
}

}  // namespace kantha
