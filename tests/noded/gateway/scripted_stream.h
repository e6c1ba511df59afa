#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/api/stream_writer.h"

namespace kantha::noded {

/// An answer that is known beforehand, as an engine streams it: in the engine's own spelling
/// (its StreamWriter), and from any place on, as kantha.resume has it.
struct ScriptedStream {
  api::ApiKind api = api::ApiKind::kChat;
  bool token_ids = true;  ///< chunks carry kantha.token_ids
  bool logprobs = false;
  bool usage = false;
  bool calls = false;  ///< a chat that reasons and then calls a function
  std::string id = "chatcmpl-first";
  std::int64_t seed = 9'007'199'254'740'993;  // 2^53 + 1

  /// The events after those tokens, which must end where an event ends.
  std::vector<std::string> events(std::span<const TokenId> resumed = {}) const;
  /// The same as one text.
  std::string bytes(std::span<const TokenId> resumed = {}) const;
  /// What is asked of it by such a body; fails the test when the seed is not its own.
  std::vector<std::string> answer(const std::string& body) const;
};

/// Every `from` in a text becomes `to`.
std::string replaced(std::string text, const std::string& from, const std::string& to);

/// A stream of which the first engine sent nothing, as if the first had sent it all.
std::string as_first(const std::string& text);

/// The token ids of a body's kantha.resume.
std::vector<TokenId> resumed_ids(const std::string& body);

/// What all of them say.
inline constexpr std::int64_t kScriptedTokens = 9;
inline constexpr std::int64_t kScriptedPrompt = 4;

}  // namespace kantha::noded
