#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/api/openai_error.h"
#include "engine/api/reply.h"
#include "engine/api/stream_writer.h"
#include "engine/api/translated_request.h"

/// How generations are answered in the words of one HTTP API. Pure but for what a writer remembers
/// of its own answer; one request, one thread.
namespace kantha::api {

/// How long the parts of a generation took, for APIs that tell it.
struct AnswerTimes {
  std::int64_t total_ns = 0;   ///< from the request's arrival to its end
  std::int64_t prompt_ns = 0;  ///< from its first step to the first token
  std::int64_t output_ns = 0;  ///< from the first token to the last
};

/// The end of one choice.
struct Ending {
  std::int32_t index = 0;
  std::string_view reason;            ///< "stop" or "length"
  std::string_view stop_string = {};  ///< the client's, which ended it; else empty
  std::vector<TokenId> rest = {};     ///< ids that came without text
};

/// One answer on its way to the client. Flow of a stream: opening (once for a choice, with its
/// first token), deltas and finish, then end or failure; all give bytes as they go on the wire.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;

  virtual std::string_view stream_type() const { return "text/event-stream; charset=utf-8"; }
  /// The choice's text begins so many characters before or after 0 (StreamWriter::begin_text).
  virtual void begin_text(std::int32_t, std::int64_t) {}
  /// `usage` is what is known when the first token is there.
  virtual std::string opening(std::int32_t index, const Usage& usage) = 0;
  virtual std::string delta(const Delta& delta) = 0;
  virtual std::string finish(const Ending& ending) = 0;
  /// All choices have ended.
  virtual std::string end(const Usage& usage, const AnswerTimes& times) = 0;
  /// The stream breaks off; nothing comes after this.
  virtual std::string failure(const Error& error) = 0;
  /// What keeps a silent stream's connection awake; empty where the API has nothing for that.
  virtual std::string keep_alive() = 0;
  /// The whole answer of a request that is not streamed.
  virtual std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                            const AnswerTimes& times) = 0;
};

/// What a writer is made of.
struct AnswerPlan {
  ReplyHead head;  ///< `id` is OpenAI's; APIs with other prefixes keep its digits
  StreamWriterOptions options;
  OrderedJson told = OrderedJson::object();  ///< TranslatedRequest::told
};

/// One API.
struct AnswerApi {
  std::unique_ptr<AnswerWriter> (*make_writer)(AnswerPlan plan);
  /// An error as its clients expect it.
  HttpError (*make_error)(const Error& error);
  std::span<const FieldName> names;  ///< its words for a chat request's fields
};

/// OpenAI's chat and text completions.
extern const AnswerApi kOpenAiAnswers;

/// The error object of an API, in its own words.
inline HttpError error_of(const AnswerApi& api, Error error) {
  return api.make_error(in_own_words(std::move(error), api.names));
}

/// "chatcmpl-0123" with another prefix: "msg_0123".
std::string renamed_id(const std::string& id, std::string_view prefix);

/// "call_0123" with another prefix: "toolu_0123".
std::string renamed_call_id(const std::string& id, std::string_view prefix);

/// A call's arguments for APIs that have them as an object. What is none, because the answer was
/// cut or the model wrote something else, is {"unparsed": TEXT}; nothing at all is {}.
OrderedJson arguments_object(const std::string& arguments);

/// "event: NAME\ndata: JSON\n\n".
std::string named_event(std::string_view name, const OrderedJson& json);

/// An HttpError with its status and Retry-After by the error, and this body.
HttpError http_error_with(const Error& error, const OrderedJson& body);

}  // namespace kantha::api
