#include "noded/options.h"

#include <CLI/CLI.hpp>

namespace kantha::noded {
namespace {

Status check(const Options& options) {
  if (options.engine_binary.empty()) return invalid_argument("--engine-binary: required");
  if (options.engine_config.empty()) return invalid_argument("--engine-config: required");
  if (options.engine_socket.empty()) return invalid_argument("--engine-socket: required");
  constexpr std::size_t kUnixPathMax = 107;
  if (options.engine_socket.size() > kUnixPathMax) {
    return invalid_argument("--engine-socket: a Unix socket path has at most 107 bytes, got " +
                            std::to_string(options.engine_socket.size()));
  }
  return ok_status();
}

Result<net::Endpoint> endpoint_flag(const char* flag, const std::string& text) {
  Result<net::Endpoint> endpoint = net::parse_endpoint(text);
  if (!endpoint.ok()) return std::move(endpoint).error().with_context(flag);
  return endpoint;
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv, std::string& help) {
  Options options;
  std::string listen = "127.0.0.1:8000";
  std::string admin = "127.0.0.1:8001";
  int drain_seconds = 300;
  int hold_seconds = 30;
  CLI::App app{"kantha-noded: front door and engine supervisor of one pod"};
  app.add_option("--pod", options.pod, "Name of the pod, for logs and state");
  app.add_option("--model", options.model, "Served model name, for state");
  app.add_option("--listen", listen, "Public endpoint HOST:PORT")->capture_default_str();
  app.add_option("--listen-fd", options.listen_fd, "Use this listening socket instead of --listen")
      ->check(CLI::Range(3, 1 << 20));
  app.add_option("--admin", admin, "Admin endpoint HOST:PORT or unix:PATH")->capture_default_str();
  app.add_option("--engine-binary", options.engine_binary, "Path of kantha-engine");
  app.add_option("--engine-config", options.engine_config, "JSON file that the engine reads");
  app.add_option("--engine-socket", options.engine_socket, "Unix socket of the engine");
  app.add_option("--engine-log", options.engine_log, "File for the engine's output");
  app.add_option("--drain-timeout-seconds", drain_seconds, "Time for running streams at the end")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option("--hold-timeout-seconds", hold_seconds, "Longest wait for a starting engine")
      ->check(CLI::Range(0, 3'600))
      ->capture_default_str();
  app.add_flag("--version", options.show_version, "Print the version and exit");
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
  TRY(options.listen, endpoint_flag("--listen", listen));
  TRY(options.admin, endpoint_flag("--admin", admin));
  options.drain_timeout = std::chrono::seconds(drain_seconds);
  options.hold_timeout = std::chrono::seconds(hold_seconds);
  return options;
}

}  // namespace kantha::noded
