#pragma once

#include "base/json_fields.h"
#include "base/result.h"

/// Which known request fields we do not act on. Pure; any thread.
///
/// Three kinds of field exist. Those that we support are read elsewhere. Those that would change
/// the answer and that we lack are refused here by name, unless their value asks for what happens
/// anyway
/// (`echo: false`, `tools: []`). Those that cannot change the answer (user, metadata, store, …) are
/// checked for their type and then ignored. Names that nobody defined are ignored, as OpenAI's own
/// API evolves by adding fields that older servers must survive.
namespace kantha::api {

enum class ApiKind { kChat, kCompletion };

/// kInvalidArgument for a wrong type, kUnimplemented with kReasonUnsupported for a wish that we
/// cannot grant; `field` is its name.
Status check_supported(const JsonFields& fields, ApiKind kind);

}  // namespace kantha::api
