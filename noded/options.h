#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"
#include "noded/weight_options.h"

namespace kantha::noded {

/// Command line of kantha-noded, checked.
struct Options {
  std::string pod;
  std::string model;
  int listen_fd = -1;    ///< a listening socket handed down; -1: bind `listen`
  net::Endpoint listen;  ///< default 127.0.0.1:8000
  net::Endpoint admin;   ///< default 127.0.0.1:8001
  /// Where only other pods of this world reach us, with a Unix socket of mode 0600; empty: they
  /// come to `listen`, and the admin token is the secret by which they are known.
  std::optional<net::Endpoint> peer_listen;
  /// File with the bearer token of the admin API; required where others reach the API.
  std::string admin_token_file;
  /// Somebody else runs the engine, in a container of its own; else it is our child.
  bool engine_external = false;
  std::string engine_binary;  ///< required unless external
  std::string engine_config;  ///< the file that the engine reads
  /// External: where the pod is told its engine's configuration (a projected file); may be empty.
  std::string engine_config_source;
  std::string engine_socket;
  std::string engine_log;
  Duration drain_timeout = std::chrono::seconds(300);
  Duration hold_timeout = std::chrono::seconds(30);
  Duration resume_timeout = std::chrono::seconds(300);
  /// Engine ends within 10 minutes that count as a crash loop; when the engine is our child.
  int breaker_ends = 3;
  /// Prompts that a pod that leaves has the others compute; 0: none.
  std::size_t hand_over_prompts = 32;
  /// After SIGTERM, how long new requests are still taken while the world learns that this pod
  /// leaves. 3 s when external, else 0 (several pods share one listening socket).
  Duration endpoint_grace = Duration::zero();
  /// Digests of the API keys that let clients in; empty: no key is asked for.
  std::string api_keys_file;
  /// Bounds of this pod, all tenants together; 0: none.
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  std::string golden_prompts;  ///< file with prompts whose answers must not change; may be empty
  std::string access_log;      ///< off, stdout or a file
  /// Weights to bring before the engine starts; nullopt: they are there.
  std::optional<WeightOptions> weights = {};
  std::string gpu_library = "libnvidia-ml.so.1";  ///< NVIDIA's management library
  bool show_version = false;
};

/// kInvalidArgument names the flag, the value and what was expected; `help` is set to the text of
/// --help when that was asked for.
Result<Options> parse_options(int argc, const char* const* argv, std::string& help);

}  // namespace kantha::noded
