#pragma once

#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"

namespace kantha::noded {

/// Command line of kantha-noded, checked.
struct Options {
  std::string pod;
  std::string model;
  int listen_fd = -1;    ///< a listening socket handed down; -1: bind `listen`
  net::Endpoint listen;  ///< default 127.0.0.1:8000
  net::Endpoint admin;   ///< default 127.0.0.1:8001
  std::string engine_binary;
  std::string engine_config;
  std::string engine_socket;
  std::string engine_log;
  Duration drain_timeout = std::chrono::seconds(300);
  Duration hold_timeout = std::chrono::seconds(30);
  bool show_version = false;
};

/// kInvalidArgument names the flag, the value and what was expected; `help` is set to the text of
/// --help when that was asked for.
Result<Options> parse_options(int argc, const char* const* argv, std::string& help);

}  // namespace kantha::noded
