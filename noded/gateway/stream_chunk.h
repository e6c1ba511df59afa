#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

/// The payloads of an engine's stream, as far as the door must know them. Pure; any thread.
namespace kantha::noded {

/// One chunk, cut where the door must cut it. Views into the payload, which is
/// `head + choices [+ ,"kantha":{"token_ids":[ids]origin}] + }`.
struct StreamChunk {
  std::string_view head;     ///< id, object, created, model, fingerprint: the same in all chunks
  std::string_view choices;  ///< `,"choices":[…]`, and `,"usage":…` where there is one
  std::string_view ids;      ///< what stands in token_ids' brackets
  std::string_view origin;   ///< `[,"seed":seed][,"prompt_tokens":n]`, of an engine's first chunk
  std::string_view seed;     ///< its digits; empty when the chunk does not say it
  std::string_view prompt;   ///< the digits of prompt_tokens, or empty
  bool opens = false;        ///< it is a chat's role chunk
  bool ends = false;         ///< it says finish_reason
  bool usage_comes = false;  ///< `"usage":null`: the last chunk will hold the usage
  bool is_usage = false;     ///< it is that one, which has neither choices nor ids
};

/// Cuts a chunk in the engine's own spelling (api/stream_writer), about 100 ns. nullopt: it is
/// spelt otherwise, or holds something else than choice 0 with its ids.
std::optional<StreamChunk> cut_chunk(std::string_view payload);

/// The same JSON in that spelling, nothing lost; nullopt when it cannot be.
std::optional<std::string> respell_chunk(std::string_view payload);

/// Appends the numbers of `ids` ("1,2,3"); false when they are none.
bool append_token_ids(std::string_view ids, std::vector<TokenId>& token_ids);

/// An error event, `{"error": {…}}`.
bool is_error_event(std::string_view payload);

/// An error event that is about the engine and not about the request: it stops, drains, or makes
/// no progress. Another engine can go on.
bool says_engine_ends(std::string_view payload);
/// And another pod's door, in an error that means the same, that its engine was ended and did not
/// crash: nothing that it worked on is the cause.
inline constexpr std::string_view kEngineWasEnded = "engine_was_ended";
bool says_engine_was_ended(std::string_view payload);

}  // namespace kantha::noded
