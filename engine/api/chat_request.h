#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/api/generation_fields.h"
#include "engine/api/reasoning_fields.h"
#include "engine/api/tool_fields.h"

/// POST /v1/chat/completions from JSON to a checked struct. Pure; any thread.
namespace kantha::api {

/// One chat request. Everything in it is within its type and range; what it costs is not known yet.
struct ChatRequest {
  GenerationFields fields;
  /// What the template sees: array of {role, content, name?, tool_calls?, tool_call_id?,
  /// reasoning_content?}. Roles are
  /// system, user, assistant and tool ("developer" is read as system). Content is a string: text
  /// parts are joined by line breaks, and null, which only an assistant message may have, becomes
  /// "".
  OrderedJson messages = OrderedJson::array();
  std::int64_t content_bytes = 0;  ///< of all contents, names and tools, to estimate the prompt's
                                   ///< tokens
  OrderedJson template_extra = OrderedJson::object();  ///< chat_template_kwargs: flat scalars
  bool add_generation_prompt = true;
  ToolFields tools = {};
  ReasoningFields reasoning = {};
};

/// Reads the body's object. kInvalidArgument or kUnimplemented with the path of the first bad
/// field. Unknown fields are ignored (request_support.h says why).
Result<ChatRequest> read_chat_request(const Json& body, const RequestLimits& limits);

/// `messages`, `tools` and `chat_template_kwargs` alone, for /tokenize.
Status read_conversation(const JsonFields& fields, ChatRequest& request);

}  // namespace kantha::api
