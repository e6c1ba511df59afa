#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/net/held_bytes.h"
#include "base/net/http.h"
#include "base/net/message_parser.h"
#include "base/net/request_guard.h"
#include "base/net/task.h"
#include "base/net/timed_socket.h"

/// Cuts a connection's bytes into requests, within the limits.
namespace kantha::net {

struct IncomingRequest {
  HttpRequest request = {};
  RequestFacts facts = {};
  HeldBytes held = {};  ///< lives until the request is answered
};

/// Nobody is there to be answered: closed, failed, or idle for too long.
struct ConnectionEnd {};

using ReadOutcome = std::variant<IncomingRequest, Refusal, ConnectionEnd>;

/// Flow: first byte within idle_timeout (header_timeout on a new connection) → head within
/// header_timeout → guard → body within body_timeout per pause and 1 KiB/s on average.
/// A body that would take the server's bodies over bodies_bytes_max is refused with 503.
/// Bytes of the next request that came along are kept for the next call.
class RequestReader {
 public:
  /// `bodies_bytes`: what all readers of a server hold.
  RequestReader(TimedSocket& socket, const HttpLimits& limits, std::uint64_t& bodies_bytes)
      : socket_(socket), limits_(limits), bodies_bytes_(bodies_bytes) {}

  Task<ReadOutcome> next();

 private:
  struct HeadOutcome {
    std::size_t head_bytes = 0;
    std::variant<std::monostate, Refusal, ConnectionEnd> failure = {};
  };
  struct BodyProgress {
    TimePoint started_at = {};
    std::uint64_t received_bytes = 0;
  };
  Task<HeadOutcome> read_head();
  Task<ReadOutcome> read_body(std::unique_ptr<MessageParser> parser, IncomingRequest incoming);
  /// Refusal when a call to read_some failed.
  static ReadOutcome read_failure(const Error& error, std::string_view what);
  TimePoint body_deadline(const BodyProgress& progress) const;
  MessageBounds parser_bounds() const;

  TimedSocket& socket_;
  const HttpLimits& limits_;
  std::uint64_t& bodies_bytes_;
  std::string buffer_;
  bool is_first_ = true;
};

}  // namespace kantha::net
