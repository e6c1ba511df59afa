#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/api/reply.h"

/// The one place where answers become JSON, streamed or whole, chat or text. One request; one
/// thread.
///
/// Flow of a stream: role (chat only), deltas, finish per choice, usage when asked for, then the
/// transport's own `[DONE]`. Every call gives one JSON text, without "data: ".
/// Guarantees: strict JSON and valid UTF-8 whatever the tokens are; `content` is null only beside
/// the calls of a whole answer; a call's id and name come once; the role comes once; the chunk with
/// finish_reason has an empty delta, because clients drop text that comes with it; the usage chunk
/// has no choices.
namespace kantha::api {

struct StreamWriterOptions {
  bool logprobs = false;
  bool token_ids = false;      ///< add kantha.token_ids
  bool include_usage = false;  ///< chunks carry "usage": null, as OpenAI has it
  /// Characters that earlier parts of a resumed answer hold; logprobs' text_offset counts from
  /// here.
  std::int64_t text_offset = 0;
  /// With token_ids, the first chunk also says kantha.seed: what a resuming front door must send.
  std::int64_t seed = 0;
  /// And kantha.prompt_tokens, when above 0: what a front door counts for a stream that may not
  /// come to its usage chunk.
  std::int64_t prompt_tokens = 0;
};

class StreamWriter {
 public:
  StreamWriter(ReplyHead head, StreamWriterOptions options);

  /// The choice's text begins so many characters before or after 0; before its first delta.
  void begin_text(std::int32_t index, std::int64_t offset) { offsets_[index] = offset; }
  /// First chunk of a chat choice: role assistant and content "".
  std::string role(std::int32_t index);
  std::string delta(const Delta& delta);
  /// Last chunk of a choice; `reason` is "stop", "length" or "tool_calls". `rest` holds token ids
  /// that came without text (the end token's), which a resuming front door needs and a client does
  /// not.
  std::string finish(std::int32_t index, std::string_view reason,
                     const std::vector<TokenId>& rest = {});
  std::string usage(const Usage& usage);
  /// The whole answer of a request that is not streamed.
  std::string whole(const std::vector<Choice>& choices, const Usage& usage);

 private:
  OrderedJson frame(bool chunk);
  OrderedJson logprobs_of(const Delta& delta);
  OrderedJson choice_frame(std::int32_t index, const Delta& delta, bool chunk);
  void add_origin(OrderedJson& vendor) const;
  std::string chunk_of(OrderedJson choice, const std::vector<TokenId>& token_ids);

  ReplyHead head_;
  StreamWriterOptions options_;
  std::map<std::int32_t, std::int64_t> offsets_;  // choice → characters before its next token
  bool origin_told_ = false;
};

}  // namespace kantha::api
