#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/net/http.h"

/// Where the public port's paths lead. Everything that is not on the list is no route; of those on
/// it, only the probes and the version are open when keys are asked for. Pure; any thread.
namespace kantha::noded {

enum class DoorPage : std::uint8_t {
  kNone,
  kLive,
  kHealth,
  kStartup,
  kVersion,
  kMetrics,
  kForward,   ///< the engine's, without a generation
  kGenerate,  ///< the engine's, with tokens to pay for
};

struct DoorRoute {
  DoorPage page = DoorPage::kNone;
  bool open = false;      ///< needs no key
  bool is_post = false;   ///< takes POST only; else GET and HEAD
  std::string_view name;  ///< as in the list; bounded, for metrics and logs
};

/// The route of a raw request target; page kNone for what is not listed, or not spelled as listed.
DoorRoute door_route(std::string_view target);

/// "POST" or "GET, HEAD".
const char* allowed_methods(const DoorRoute& route);
bool allows(const DoorRoute& route, std::string_view method);

}  // namespace kantha::noded
