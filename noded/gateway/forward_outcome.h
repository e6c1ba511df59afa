#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace kantha::noded {

/// Who ended an exchange at the door.
enum class EndedBy : std::uint8_t {
  kServer,      ///< the answer came whole from an engine or a peer, whatever its status
  kDoor,        ///< the door answered instead, or ended a stream with an error event
  kClient,      ///< the client left first
  kSlowClient,  ///< it did not read for too long, and was cut off
};

/// What became of one request that reached the door: for rates, the access log and metrics. Plain
/// data. Counts are of this request alone, however many engines worked on it.
struct ForwardOutcome {
  /// Status that the client got; 0 when it left before there was one. A stream that ended with an
  /// error event has 200, and `ended_by` kDoor.
  int status = 0;
  bool streamed = false;
  EndedBy ended_by = EndedBy::kDoor;
  /// As the engine counted them; nothing when the answer said nothing of it.
  std::optional<std::int64_t> prompt_tokens;
  /// Output tokens that were made for the client, also of a stream that did not end properly. Where
  /// the door cannot read them (n > 1), the chunks that passed.
  std::optional<std::int64_t> completion_tokens;
  int resumes = 0;              ///< times that a stream went on at another engine
  int retries = 0;              ///< times that it was sent again before any byte of the answer
  std::int64_t bytes_sent = 0;  ///< of the answer's body
  Duration held{};              ///< waited for an engine
  /// From the arrival to the first byte of the answer, and to its end.
  std::optional<Duration> first_byte;
  Duration total{};
  std::string target;  ///< name of the last server that it was sent to; empty: of none
  std::string error;   ///< why the door ended it, for people
};

/// "server", "door", "client", "slow_client".
const char* ended_by_name(EndedBy by);

}  // namespace kantha::noded
