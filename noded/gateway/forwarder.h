#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "noded/engine/engine_gate.h"

/// Passes a request to the engine and its answer back, as it arrives.
///
/// Flow: hold until the engine may be used → send → first bytes → relay. Guarantees: a request that
/// was not answered yet survives the end of its engine (it is sent again to the next one within the
/// hold time); so does one that a draining engine refuses; a stream whose engine ends gets one
/// error event, never a silent end; bytes of a stream are passed on as they come, without
/// buffering; the engine's request is cancelled when the client leaves. One executor.
namespace kantha::noded {

struct ForwardPolicy {
  /// How long a request may wait for an engine that is starting or being replaced.
  Duration hold_timeout = std::chrono::seconds(30);
  /// Requests that wait at the same time; more are refused.
  std::int64_t held_max = 256;
  /// A whole (not streamed) answer must begin within this.
  Duration answer_timeout = std::chrono::minutes(30);
  /// A running stream must show a sign within this; the engine sends comments while it works.
  Duration silence_timeout = std::chrono::minutes(2);
  /// Largest answer that is not a stream.
  std::size_t answer_bytes_max = 64u << 20;
};

/// Numbers of one door, read by state and metrics.
struct DoorCounts {
  std::int64_t in_flight = 0;
  std::int64_t held = 0;
  std::int64_t total = 0;
  std::int64_t retried = 0;
  std::int64_t broken_streams = 0;
};

class Forwarder {
 public:
  Forwarder(boost::asio::any_io_executor executor, EngineGate& gate, net::HttpClient& client,
            ForwardPolicy policy, const Clock& clock);

  /// Answers the request, whatever happens.
  net::Task<void> forward(net::HttpRequest request, net::ResponseWriter& writer);

  /// While on, nothing new reaches the engine: requests wait, running ones go on.
  void set_holding(bool on);
  /// The pod is about to go: requests are still taken, and their connections end with the answer,
  /// so that the next ones find another pod.
  void set_leaving() { leaving_ = true; }
  bool leaving() const { return leaving_ || draining_; }
  /// From now on new requests are refused with 503.
  void set_draining() { draining_ = true; }
  bool draining() const { return draining_; }
  const DoorCounts& counts() const { return counts_; }
  /// Requests that the engine is working on.
  std::int64_t dispatched() const { return counts_.in_flight - counts_.held; }
  /// Waits until nothing is dispatched (true) or the timeout (false).
  net::Task<bool> wait_idle(Duration timeout);

 private:
  struct Exchange;
  enum class Turn : std::uint8_t { kAnswered, kAgain };

  net::Task<bool> hold(std::shared_ptr<Exchange> exchange);
  net::Task<Turn> attempt(std::shared_ptr<Exchange> exchange);
  net::Task<Turn> lost(std::shared_ptr<Exchange> exchange);
  net::Headers answer_headers(net::Headers headers) const;
  net::Task<Turn> relay_whole(std::shared_ptr<Exchange> exchange,
                              std::shared_ptr<net::ResponseStream> answer);
  net::Task<void> relay_stream(std::shared_ptr<Exchange> exchange,
                               std::shared_ptr<net::ResponseStream> answer);

  EngineGate& gate_;
  net::HttpClient& client_;
  ForwardPolicy policy_;
  const Clock& clock_;
  net::Notify changed_;
  DoorCounts counts_;
  bool holding_ = false;
  bool leaving_ = false;
  bool draining_ = false;
};

}  // namespace kantha::noded
