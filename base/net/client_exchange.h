#pragma once

#include <memory>
#include <string>

#include "base/net/connection_pool.h"
#include "base/net/http_client.h"
#include "base/net/message_parser.h"
#include "base/net/timed_socket.h"

/// One request and its answer on one connection of an HTTP client.
namespace kantha::net {

class ClientExchange {
 public:
  /// The connection goes back to `pool` (if it is still there) when the answer's end was read.
  ClientExchange(TimedSocket socket, std::string peer, std::weak_ptr<ConnectionPool> pool,
                 bool is_head_request);

  /// Sends the request's bytes and reads up to the end of the answer's head; skips 1xx answers.
  static Task<Status> begin(std::shared_ptr<ClientExchange> self, std::string wire,
                            TimePoint deadline);
  /// As ResponseStream::read.
  static Task<Result<std::string>> read(std::shared_ptr<ClientExchange> self,
                                        Duration idle_timeout);
  void cancel();

  /// Whether the peer can have seen any byte of the request.
  bool has_sent_bytes() const { return socket_.bytes_written() > written_before_; }
  bool has_received_bytes() const { return has_received_bytes_; }
  int status() const { return parser_->status(); }
  const Headers& headers() const { return parser_->headers(); }

 private:
  Task<Status> read_head(TimePoint deadline);
  /// Reads once and parses; with the peer's end, ends the message.
  Task<Status> advance(TimePoint deadline);
  Status parse_buffer();
  /// Gives the connection back, or closes it.
  void release();

  TimedSocket socket_;
  std::string peer_;
  std::weak_ptr<ConnectionPool> pool_;
  const MessageKind kind_;
  std::unique_ptr<MessageParser> parser_;
  std::string buffer_;
  std::uint64_t written_before_ = 0;
  bool has_received_bytes_ = false;
  bool has_ended_ = false;
  bool is_cancelled_ = false;
};

}  // namespace kantha::net
