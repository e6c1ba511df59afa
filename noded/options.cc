#include "noded/options.h"

#include <CLI/CLI.hpp>

#include "base/command_line.h"
#include "noded/gateway/admin_guard.h"

namespace kantha::noded {
namespace {

constexpr int kExternalGraceMs = 3000;

/// What the flags say before it is put into Options.
struct Texts {
  std::string listen = "127.0.0.1:8000";
  std::string admin = "127.0.0.1:8001";
  std::string peer_listen;
  int drain_seconds = 300;
  int drain_ms = -1;  ///< wins over drain_seconds
  int hold_seconds = 30;
  int resume_seconds = 300;
  int grace_ms = -1;  ///< default: by the mode
};

Status check(const Options& options) {
  if (options.engine_external && !options.engine_binary.empty()) {
    return invalid_argument("--engine-binary: not with --engine-external");
  }
  if (!options.engine_external && !options.engine_config_source.empty()) {
    return invalid_argument("--engine-config-source: only with --engine-external");
  }
  if (!options.engine_external && options.engine_binary.empty()) {
    return invalid_argument("--engine-binary: required (or --engine-external)");
  }
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

void add_door_flags(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--pod", options.pod, "Name of the pod, for logs and state");
  app.add_option("--model", options.model, "Served model name, for state");
  app.add_option("--listen", texts.listen, "Public endpoint HOST:PORT")->capture_default_str();
  app.add_option("--listen-fd", options.listen_fd, "Use this listening socket instead of --listen")
      ->check(CLI::Range(3, 1 << 20));
  app.add_option("--admin-listen,--admin", texts.admin, "Admin endpoint HOST:PORT or unix:PATH")
      ->capture_default_str();
  app.add_option("--peer-listen", texts.peer_listen,
                 "unix:PATH where other pods of this machine send requests");
  app.add_option("--admin-token-file", options.admin_token_file,
                 "File with the admin API's bearer token; read again when it changes");
  app.add_flag("--version", options.show_version, "Print the version and exit");
}

void add_engine_flags(CLI::App& app, Options& options) {
  app.add_option("--engine-binary", options.engine_binary, "Path of kantha-engine");
  app.add_flag("--engine-external", options.engine_external,
               "Somebody else runs the engine (kantha-engine --supervise)");
  app.add_option("--engine-config", options.engine_config, "JSON file that the engine reads");
  app.add_option("--engine-config-source", options.engine_config_source,
                 "File that is brought to --engine-config at the start");
  app.add_option("--engine-socket", options.engine_socket, "Unix socket of the engine");
  app.add_option("--engine-log", options.engine_log, "File for the engine's output");
  app.add_option("--gpu-library", options.gpu_library, "NVIDIA's management library")
      ->capture_default_str();
  app.add_option("--breaker-ends", options.breaker_ends,
                 "Ends of our own engine in 10 minutes that count as a crash loop")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--hand-over-prompts", options.hand_over_prompts,
                 "Of the prompts that come most, how many a pod that leaves has the others compute")
      ->check(CLI::Range(std::size_t{0}, std::size_t{64}))
      ->capture_default_str();
}

void add_time_flags(CLI::App& app, Texts& texts) {
  constexpr int kDay = 86'400;
  app.add_option("--drain-timeout-seconds", texts.drain_seconds,
                 "Time for running streams at the end")
      ->check(CLI::Range(0, kDay))
      ->capture_default_str();
  app.add_option("--drain-timeout-ms", texts.drain_ms, "The same in milliseconds; wins")
      ->check(CLI::Range(0, kDay * 1000));
  app.add_option("--endpoint-grace-ms", texts.grace_ms,
                 "After SIGTERM, how long new requests are still taken; default 3000 with "
                 "--engine-external, else 0")
      ->check(CLI::Range(0, 3'600'000));
  app.add_option("--hold-timeout-seconds", texts.hold_seconds, "Longest wait for a starting engine")
      ->check(CLI::Range(0, 3'600))
      ->capture_default_str();
  app.add_option("--resume-timeout-seconds", texts.resume_seconds,
                 "Longest wait of a stream that lost its engine")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
}

void add_gate_flags(CLI::App& app, Options& options) {
  constexpr std::int64_t kRateMax = 1'000'000'000'000;
  const CLI::Range rates(std::int64_t{0}, kRateMax);
  app.add_option("--golden-prompts", options.golden_prompts,
                 "File with prompts whose answers must not change; asked of every new engine");
  app.add_option("--api-keys-file", options.api_keys_file,
                 "JSON file with the SHA-256 digests of the API keys that are let in; read again "
                 "when it changes. Without it no key is asked for");
  app.add_option("--requests-per-minute", options.requests_per_minute,
                 "Requests a minute that this pod takes; 0: no bound")
      ->check(rates);
  app.add_option("--tokens-per-minute", options.tokens_per_minute,
                 "Tokens a minute, prompt and output, that this pod takes; 0: no bound")
      ->check(rates);
  app.add_option("--access-log", options.access_log,
                 "One JSON line a request: off, stdout or a file; default off");
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv, std::string& help) {
  Options options;
  Texts texts;
  WeightFlags weights;
  CLI::App app{"kantha-noded: front door and engine supervisor of one pod"};
  add_door_flags(app, options, texts);
  add_engine_flags(app, options);
  add_time_flags(app, texts);
  add_gate_flags(app, options);
  add_weight_flags(app, weights);
  TRY_OK(parse_command_line(app, argc, argv, help));
  if (!help.empty() || options.show_version) return options;
  TRY_OK(check(options));
  TRY(options.listen, endpoint_flag("--listen", texts.listen));
  TRY(options.admin, admin_endpoint(texts.admin, options.admin_token_file));
  if (!texts.peer_listen.empty()) {
    TRY(options.peer_listen, endpoint_flag("--peer-listen", texts.peer_listen));
    if (!options.peer_listen->is_unix()) {
      return invalid_argument("--peer-listen: expected unix:PATH, got \"" + texts.peer_listen +
                              "\"");
    }
  }
  TRY(options.weights, weight_options(weights, process_environment()));
  options.drain_timeout = texts.drain_ms >= 0 ? Duration(std::chrono::milliseconds(texts.drain_ms))
                                              : Duration(std::chrono::seconds(texts.drain_seconds));
  options.hold_timeout = std::chrono::seconds(texts.hold_seconds);
  options.resume_timeout = std::chrono::seconds(texts.resume_seconds);
  const int default_grace_ms = options.engine_external ? kExternalGraceMs : 0;
  options.endpoint_grace =
      std::chrono::milliseconds(texts.grace_ms >= 0 ? texts.grace_ms : default_grace_ms);
  return options;
}

}  // namespace kantha::noded
