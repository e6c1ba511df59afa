#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "noded/gateway/stream_chunk.h"

/// What one client has of its stream, whichever engines it comes from. Pure; one thread.
///
/// Flow: feed() takes an engine's bytes as they come and gives those for the client, whole events
/// only; when the engine ends, next_engine() drops what was half there, and the bytes of the next
/// one, which was told token_ids() and seed(), are fed as before.
/// Guarantees: however the bytes are cut, and however often the engine changes, the client's stream
/// is that of one engine: one id, one role, one finish_reason, one usage, one [DONE], every token
/// once; kantha.token_ids and kantha.seed only if it asked for them. Events that are not understood
/// pass unchanged, after which the stream cannot be continued.
/// Memory: four bytes a token, and one event.
namespace kantha::noded {

struct LedgerLimits {
  /// A longer event passes as bytes.
  std::size_t event_bytes_max = 4u << 20;
  std::size_t tokens_max = 1u << 20;
};

class StreamLedger {
 public:
  /// `shows_token_ids`: the client asked for them itself.
  explicit StreamLedger(bool shows_token_ids, LedgerLimits limits = {});

  std::string feed(std::string_view bytes);

  /// The client has something of the answer.
  bool has_begun() const { return !head_.empty() || raw_; }
  /// The client has everything: [DONE], or the error event of its own request.
  bool finished() const { return finished_; }
  /// The engine said that it ends; its error event was kept back.
  bool engine_gave_up() const { return gave_up_; }
  /// And it was another pod's, whose engine somebody had ended.
  bool engine_was_ended() const { return was_ended_; }
  /// Another engine could take over here.
  bool can_continue() const { return understood_; }
  /// Bytes pass as they are: the client may have the beginning of an event.
  bool is_raw() const { return raw_; }

  /// From now on the bytes come from another engine.
  void next_engine();
  /// What the client still needs when all tokens are there and only the end is missing; nullopt
  /// when that takes an engine.
  std::optional<std::string> missing_end() const;

  const std::vector<TokenId>& token_ids() const { return token_ids_; }
  /// The first engine's seed, as digits; empty until it told it.
  const std::string& seed() const { return seed_; }
  /// As the first engine that told it counted them.
  std::optional<std::int64_t> prompt_tokens() const { return prompt_tokens_; }

 private:
  void take_event(std::string_view event, std::string& out);
  void take_payload(std::string_view event, std::string_view payload, std::string& out);
  void take_chunk(const StreamChunk& chunk, std::string& out);
  bool is_repeated(const StreamChunk& chunk) const;
  void put(const StreamChunk& chunk, std::string& out);

  const bool shows_token_ids_;
  const LedgerLimits limits_;
  std::string pending_;  ///< the beginning of an event
  std::vector<TokenId> token_ids_;
  std::string seed_;
  std::string head_;  ///< what all chunks of this stream begin with
  std::optional<std::int64_t> prompt_tokens_;
  bool origin_shown_ = false;
  bool opened_ = false;  ///< the role was sent
  bool ended_ = false;   ///< finish_reason was sent
  bool usage_wanted_ = false;
  bool usage_sent_ = false;
  bool finished_ = false;
  bool gave_up_ = false;
  bool was_ended_ = false;
  bool understood_ = true;
  bool raw_ = false;
};

}  // namespace kantha::noded
