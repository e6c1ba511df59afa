#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "noded/gateway/forward_outcome.h"
#include "noded/gateway/forward_target.h"
#include "noded/gateway/replayed_stream.h"
#include "noded/gateway/resumable_request.h"
#include "noded/gateway/stream_ledger.h"

namespace kantha::noded {

/// One client's request while it is being answered: what all phases of forwarding know of it. Lives
/// as long as the handler of the request. One executor.
struct ForwardExchange {
  ForwardExchange(net::HttpRequest from, net::ResponseWriter& to, TimePoint now);

  /// The request as the next server shall see it: after the tokens that the client has.
  net::HttpRequest for_target(const ForwardTarget& target, TimePoint now) const;
  /// The client has seen something of a server's answer.
  bool has_begun() const { return shown || (ledger && ledger->has_begun()); }
  /// Its client has the beginning of an answer, and nothing but an answer's rest does.
  bool awaits_more() const { return has_begun() || writer.started(); }
  /// Its stream could go on at another server from here.
  bool can_continue() const {
    return (ledger && ledger->can_continue()) || (replay && replay->can_continue());
  }
  /// Ends the present try: the client left, or the door wants the request back.
  void end_try();
  /// Tokens that the client has, or bytes of text where no token is told.
  std::size_t tokens() const {
    return ledger ? ledger->token_ids().size() : replay ? replay->text_bytes() : 0;
  }
  void note_try(const ForwardTarget& target, TargetEnd end, TimePoint now);

  const net::HttpRequest request;  ///< end to end
  net::ResponseWriter& writer;
  const std::optional<ResumableRequest> plan;  ///< there when a stream can go on elsewhere
  std::optional<StreamLedger> ledger;          ///< there when `plan` is
  /// What the next server is asked with, so that it answers the same; without a plan only.
  std::optional<std::int64_t> replay_seed;
  std::optional<ReplayedStream> replay;  ///< there when such an answer is a stream
  const TimePoint arrived;
  ForwardOutcome outcome;
  bool gone = false;        ///< the client left
  bool shown = false;       ///< bytes of an answer that no ledger looks at
  char last_byte = '\n';    ///< of those
  char last_counted = ' ';  ///< of those, for count_stream_events

  // Waiting for a server.
  TimePoint deadline{};   ///< until when
  TimePoint last_sign{};  ///< that the client saw
  TimePoint last_look{};  ///< for a server
  std::optional<std::uint64_t> memo;
  std::vector<TriedTarget> tried;

  // The present try.
  TimePoint sent{};
  std::shared_ptr<net::CancelSignal> cancel;
  bool recalled = false;  ///< the door wants it back

  // Servers that ended under it.
  int losses = 0;   ///< in a row, without a token between
  int crashes = 0;  ///< of those, in a row, by themselves and without a token between
  std::optional<ForwardTarget> suspect;  ///< was cut, and it is not known yet why
  TimePoint lost_at{};                   ///< the last one
  bool was_ended = false;                ///< it says itself that it did not crash
  std::int64_t ends_before = 0;          ///< of that server's engines, when it was sent there
  std::size_t tokens_at_loss = 0;
};

/// Without the fields that belong to one connection (RFC 9110, section 7.6.1).
net::Headers end_to_end(net::Headers headers);

}  // namespace kantha::noded
