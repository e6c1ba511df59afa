#pragma once

#include <optional>
#include <string_view>

namespace kantha::noded {

/// The path of a request target, when it is spelled in the one way that this door serves; nullopt
/// for every other spelling, which is no route then. Guard, router and engine all see this text, so
/// that no two of them can read one target differently. Pure; any thread.
///
/// Served: "/v1/models", "/v1/models?x=1", "http://host:8000/v1/models" (as proxies send it).
/// Not: empty segments ("//v1", "/v1/models/"), dot segments ("/v1/../metrics"), characters that
/// need no escape but have one ("/%761/models"), escaped dots, controls, backslashes and percent
/// signs, fragments, "*", a path that RFC 3986 does not allow. An escaped slash may stand where a
/// model's id may have one; what it separates is looked at like any segment.
std::optional<std::string_view> canonical_path(std::string_view target);

/// Path and query without scheme and authority: what is sent on. `target` has a canonical path.
std::string_view origin_form(std::string_view target);

}  // namespace kantha::noded
