#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/result.h"
#include "engine/api/chat_request.h"

/// What the readers of the other APIs (Anthropic's messages, OpenAI's responses, Ollama's, infill)
/// share: each writes its request as a chat request's JSON, which read_chat_request then checks, so
/// that every field that the chat API has means the same in all of them. Pure; any thread.
namespace kantha::api {

/// Text around a gap, for models that were trained to fill one.
struct InfillPrompt {
  /// A file that the model is shown before the gap's own.
  struct Extra {
    std::string filename;
    std::string text;
  };
  std::string prefix;
  std::string suffix;
  std::vector<Extra> extra = {};
};

/// A request of another API. Of `messages`, `raw` and `infill` the last one that is set is the
/// prompt; `messages` is never empty.
struct TranslatedRequest : ChatRequest {
  std::optional<std::string> raw = {};  ///< a text that no template is put around
  std::optional<InfillPrompt> infill = {};
  OrderedJson told = OrderedJson::object();  ///< what the answer repeats of the request
};

using RequestReader = Result<TranslatedRequest> (*)(const Json& body, const RequestLimits& limits);

/// Names of a chat request and what they are called in another API; "[]" stands for any index.
struct FieldName {
  std::string_view chat;
  std::string_view own;
};

/// The error in the words of an API: where its field, and the beginning of its message, is one of
/// `names`, the API's own name takes its place.
Error in_own_words(Error error, std::span<const FieldName> names);

/// Copies what is there and not null.
void copy_fields(const JsonFields& from, std::initializer_list<std::string_view> names, Json& to);

/// Names that every API takes besides its own: those of sampling and place that it has no other
/// word for, and `kantha` but for resume and token ids, which its answers have no place for.
Status copy_shared_fields(const JsonFields& from, Json& to);

/// `tools` as the chat API has them: `function_of` reads the function of each of them.
Status translate_tools(const JsonFields& from, Result<Json> (*function_of)(const JsonFields& tool),
                       Json& to);

/// The template's `enable_thinking`, unless the client's chat_template_kwargs have it.
void set_thinking(bool thinks, Json& chat);

/// `path: not supported yet`, as kUnimplemented with kReasonUnsupported.
Error not_supported(const std::string& path, std::string_view what = {});

/// A limit of output tokens that is a bound and no promise: above the window it means the window.
/// `name` is read from `from`; at least 1.
Status copy_output_limit(const JsonFields& from, std::string_view name, const RequestLimits& limits,
                         Json& to);

/// The chat request that a reader has written. With `clamps`, what the window does not hold is
/// taken off its max_tokens.
Result<TranslatedRequest> read_translated(const Json& chat, const RequestLimits& limits,
                                          bool clamps);

/// Text of a content that is a string or an array of blocks whose type is in `types`; joined by
/// line breaks. Other types are refused by name.
Result<std::string> read_text_blocks(const Json& content, const std::string& path,
                                     std::initializer_list<std::string_view> types);

}  // namespace kantha::api
