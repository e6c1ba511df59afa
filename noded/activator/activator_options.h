#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"

namespace kantha::noded {

/// Command line of kantha-noded --activator, checked.
struct ActivatorOptions {
  std::string host = "127.0.0.1";  ///< where the doors of objects listen, each at its port
  net::Endpoint admin;             ///< default 127.0.0.1:8001
  std::string admin_token_file;    ///< required where others reach the admin API
  Duration hold_timeout = std::chrono::seconds(300);
  std::int64_t requests_max = 1024;    ///< in the activator at one time
  std::int64_t bytes_max = 256 << 20;  ///< of their bodies
  std::int64_t held_per_object_max = 256;
  Duration drain_timeout = std::chrono::seconds(300);
  Duration endpoint_grace = std::chrono::seconds(5);
  std::string access_log;  ///< off, stdout or a file
};

/// Whether the command line is for an activator at all.
bool wants_activator(int argc, const char* const* argv);

/// As parse_options (noded/options.h).
Result<ActivatorOptions> parse_activator_options(int argc, const char* const* argv,
                                                 std::string& help);

}  // namespace kantha::noded
