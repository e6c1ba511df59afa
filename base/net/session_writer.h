#pragma once

#include <functional>
#include <string>

#include "base/net/http_server.h"
#include "base/net/message_head.h"
#include "base/net/request_guard.h"
#include "base/net/timed_socket.h"

/// The ResponseWriter of one request on a server's connection.
namespace kantha::net {

class SessionWriter final : public ResponseWriter {
 public:
  /// `is_stopping` is read when the head goes out: a stopping server keeps no connection alive.
  SessionWriter(TimedSocket& socket, const HttpLimits& limits, RequestFacts facts,
                const bool& is_stopping)
      : socket_(socket), limits_(limits), facts_(facts), is_stopping_(is_stopping) {}

  Task<Status> send(HttpResponse response) override;
  Task<Status> start(int status, Headers headers) override;
  Task<Status> write(std::string bytes) override;
  Task<Status> finish() override;
  void abort() override;
  bool started() const override { return phase_ != Phase::kFresh; }
  bool client_gone() const override { return is_gone_; }
  void on_client_gone(std::function<void()> callback) override;
  std::optional<std::string> tls_peer() const override { return tls_peer_; }

  void set_tls_peer(std::optional<std::string> peer) { tls_peer_ = std::move(peer); }
  /// The client went away (or the server closes): tells the handler, once.
  void mark_gone();
  bool is_finished() const { return phase_ == Phase::kFinished; }
  bool is_aborted() const { return phase_ == Phase::kAborted; }
  /// Whether the connection may carry another request after this answer.
  bool keeps_connection() const { return is_finished() && keeps_connection_ && !is_broken_; }

 private:
  enum class Phase : unsigned char { kFresh, kStreaming, kFinished, kAborted };

  /// Decides framing and connection, and spells the head.
  std::string begin(int status, const Headers& headers, BodyFraming body, std::size_t length);
  Task<Status> put(std::string bytes);
  static void call(const std::function<void()>& callback);

  TimedSocket& socket_;
  const HttpLimits& limits_;
  const RequestFacts facts_;
  const bool& is_stopping_;
  std::function<void()> gone_callback_;
  std::optional<std::string> tls_peer_;
  Phase phase_ = Phase::kFresh;
  BodyFraming body_ = BodyFraming::kLength;
  bool has_no_body_ = false;
  bool keeps_connection_ = false;
  bool is_gone_ = false;
  bool is_broken_ = false;
  bool is_writing_ = false;
};

}  // namespace kantha::net
