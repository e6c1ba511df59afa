#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "noded/gateway/api_keys.h"
#include "noded/gateway/json_outline.h"

/// What the door reads of a generation's body, and what it writes into it. The rest of the body
/// keeps its bytes. Pure; any thread.
namespace kantha::noded {

struct RequestFacts {
  std::optional<std::string> model;  ///< "model", where it is a string
  bool streams = false;
  /// The outline of the body; nullopt when it is no JSON object that the door can read.
  std::optional<JsonObjectOutline> outline;
};

RequestFacts read_request_facts(std::string_view body);

/// Prompt tokens that a body may stand for, for setting them aside: a quarter of its bytes.
double estimated_tokens(std::string_view body);

/// The body as the holder of `grant` may send it: `kantha.tenant` is the grant's, whatever the
/// client wrote; `priority` is no better than the grant's; `kantha.class` is the grant's where it
/// names one; with a private cache there is a `cache_salt`. Members that the engine will refuse for
/// their type stay for it to refuse. `facts` are those of the body and have an outline.
std::string stamped_body(std::string_view body, const RequestFacts& facts, const KeyGrant& grant);

}  // namespace kantha::noded
