#include "noded/activator/activator_options.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/command_line.h"
#include "noded/gateway/admin_guard.h"

namespace kantha::noded {
namespace {

struct Seconds {
  int hold = 300;
  int drain = 300;
  int grace_ms = 5000;
};

void add_bounds(CLI::App& app, ActivatorOptions& options, Seconds& seconds) {
  const CLI::Range counts(std::int64_t{1}, std::int64_t{1'000'000});
  app.add_option("--hold-timeout-seconds", seconds.hold, "Longest wait of a request for a pod")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--requests-max", options.requests_max, "Requests that are here at one time")
      ->check(counts)
      ->capture_default_str();
  app.add_option("--held-per-object-max", options.held_per_object_max,
                 "Requests of one object that wait at one time")
      ->check(counts)
      ->capture_default_str();
  app.add_option("--bytes-max", options.bytes_max, "Bytes of bodies that are here at one time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--drain-timeout-seconds", seconds.drain, "Time for running requests at the end")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option("--endpoint-grace-ms", seconds.grace_ms,
                 "After SIGTERM, how long new requests are still taken")
      ->check(CLI::Range(0, 3'600'000))
      ->capture_default_str();
}

}  // namespace

bool wants_activator(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--activator"; });
}

Result<ActivatorOptions> parse_activator_options(int argc, const char* const* argv,
                                                 std::string& help) {
  ActivatorOptions options;
  Seconds seconds;
  std::string admin = "127.0.0.1:8001";
  bool is_activator = false;
  CLI::App app{"kantha-noded --activator: holds requests for models that have no pod now"};
  app.add_flag("--activator", is_activator, "This mode");
  app.add_option("--host", options.host,
                 "Address at which each object gets a port of its own; * is every one, IPv6 too")
      ->capture_default_str();
  app.add_option("--admin-listen,--admin", admin,
                 "Admin endpoint HOST:PORT, *:PORT (every address) or unix:PATH")
      ->capture_default_str();
  app.add_option("--admin-token-file", options.admin_token_file,
                 "File with the admin API's bearer token; read again when it changes");
  app.add_option("--access-log", options.access_log,
                 "One JSON line a request: off, stdout or a file; default off");
  add_bounds(app, options, seconds);
  TRY_OK(parse_command_line(app, argc, argv, help));
  if (!help.empty()) return options;
  TRY(options.admin, admin_endpoint(admin, options.admin_token_file));
  options.hold_timeout = std::chrono::seconds(seconds.hold);
  options.drain_timeout = std::chrono::seconds(seconds.drain);
  options.endpoint_grace = std::chrono::milliseconds(seconds.grace_ms);
  return options;
}

}  // namespace kantha::noded
