#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/net/http_client.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "noded/gateway/forward_exchange.h"
#include "noded/gateway/forward_outcome.h"
#include "noded/gateway/forward_target.h"

/// Passes a request to a server and its answer back, as it arrives.
///
/// Flow, a file each: accept (forwarder.cc) → hold until a server may be used (forwarder_hold.cc) →
/// send (forwarder_dispatch.cc) → relay (forwarder_relay.cc); when the server ends meanwhile:
/// decide (forwarder_loss.cc), hold again, and so on.
/// Guarantees: a request that was not answered yet survives the end of its engine; a stream that
/// can be resumed (resumable_request.h) goes on at the next one as if nothing had happened, with
/// comments while it waits; one that cannot, or that nobody takes in time, gets one error event,
/// never a silent end; events are passed on as they come; a request that ended two engines by
/// itself gets no third; the engine's request is cancelled when the client leaves; a client that
/// does not read is cut off by the server's write_stall_timeout, and no more than one piece of its
/// answer waits here. One executor.
namespace kantha::noded {

struct ForwardPolicy {
  /// How long a new request may wait for an engine that is starting or being replaced.
  Duration hold_timeout = std::chrono::seconds(30);
  /// And one that lost its engine, from each loss: clients rather wait than lose what they have.
  Duration resume_timeout = std::chrono::seconds(120);
  /// Requests that wait at the same time; more are refused. Streams that have begun may wait, too.
  std::int64_t held_max = 256;
  /// Bodies that are kept at the same time, for another engine; more are refused.
  std::int64_t kept_bytes_max = 128 << 20;
  /// Engines that may end or give up under one request, without a token between them, before it is
  /// given up itself.
  int losses_max = 16;
  /// Between two tries at this pod's engine, so that its keeper sees what happened first.
  Duration retry_pause = std::chrono::milliseconds(60);
  /// A stream that waits for an engine shows a comment this often, also before it has begun.
  Duration comment_every = std::chrono::seconds(5);
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
  std::int64_t broken_streams = 0;  ///< ended with an error event of ours
  std::int64_t resumed = 0;         ///< streams that went on at another engine
  std::int64_t completed = 0;       ///< of which only the end was missing, so that we wrote it
  std::int64_t unresumed = 0;       ///< that could be resumed, and for which nobody was found
  std::int64_t at_peers = 0;        ///< that another pod works on now
  std::int64_t kept_bytes = 0;      ///< bodies of the requests in flight
};

class Forwarder {
 public:
  /// A pod that knows no other.
  Forwarder(boost::asio::any_io_executor executor, EngineGate& gate, net::HttpClient& client,
            ForwardPolicy policy, const Clock& clock);
  Forwarder(boost::asio::any_io_executor executor, TargetChooser& chooser, net::HttpClient& client,
            ForwardPolicy policy, const Clock& clock);

  /// Answers the request, whatever happens, and says what became of it.
  net::Task<ForwardOutcome> forward(net::HttpRequest request, net::ResponseWriter& writer);

  /// While on, nothing new reaches this pod's engine: requests wait, running ones go on.
  void set_holding(bool on);
  /// Takes streams that can be resumed back from this pod's engine: they wait with the others and
  /// go on from there. Those at other pods stay.
  void recall();
  /// The same for one server that is given up, and also what it has not begun to answer.
  void recall_from(const std::string& target);
  bool holding() const { return holding_; }
  /// The pod is about to go: requests are still taken, for other pods where it knows some, and
  /// their connections end with the answer, so that the next ones find another pod.
  void set_leaving() { leaving_ = true; }
  bool leaving() const { return leaving_ || draining_; }
  /// From now on new requests go to other pods, and are refused with 503 where there is none.
  void set_draining() { draining_ = true; }
  bool draining() const { return draining_; }
  /// The drain's time is over: whatever is still here ends now, streams with an error event.
  void expire();

  /// Called with each request that this pod's engine is about to begin.
  void on_local(std::function<void(const net::HttpRequest&)> callback) {
    on_local_ = std::move(callback);
  }

  const DoorCounts& counts() const { return counts_; }
  /// Since the last request ended, or since the start; zero while there is one.
  Duration idle_time() const {
    return counts_.in_flight > 0 ? Duration::zero() : clock_.now() - idle_since_;
  }
  /// Requests that this pod's engine is working on.
  std::int64_t dispatched() const { return counts_.in_flight - counts_.held - counts_.at_peers; }
  /// Waits until nothing is dispatched (true) or the timeout (false).
  net::Task<bool> wait_idle(Duration timeout);
  /// The same for all requests, also those that wait for an engine.
  net::Task<bool> wait_done(Duration timeout);

 private:
  static constexpr char kDrainIsOver[] = "this pod is shutting down: send the request again";
  enum class Turn : std::uint8_t { kAnswered, kAgain };
  using Exchange = std::shared_ptr<ForwardExchange>;
  using Answer = std::shared_ptr<net::ResponseStream>;

  // Accept.
  std::string reason_to_refuse(const net::HttpRequest& request) const;
  net::Task<void> serve(Exchange exchange);
  net::Task<bool> wait_until(std::function<bool()> condition, Duration timeout);

  // Hold.
  net::Task<std::optional<ForwardTarget>> hold(Exchange exchange);
  net::Task<bool> wait_turn(Exchange exchange);
  net::Task<Status> show_sign(Exchange exchange);

  // Send.
  net::Task<Turn> attempt(Exchange exchange, ForwardTarget target);
  net::Task<Turn> unopened(Exchange exchange, ForwardTarget target, Error error);
  void close_try(ForwardExchange& exchange, const ForwardTarget& target, TargetEnd end);

  // Relay.
  net::Task<Turn> relay_whole(Exchange exchange, ForwardTarget target, Answer answer);
  net::Task<Turn> judge_whole(Exchange exchange, ForwardTarget target, net::HttpResponse response);
  net::Task<Turn> relay_stream(Exchange exchange, ForwardTarget target, Answer answer);
  net::Task<Status> show_piece(Exchange exchange, std::string piece);
  net::Task<Turn> relay_resumable(Exchange exchange, ForwardTarget target, Answer answer);
  net::Task<Status> begin_stream(Exchange exchange, int status, net::Headers headers);
  net::Task<Status> show(Exchange exchange, std::string bytes);
  net::Task<Turn> finish_stream(Exchange exchange, ForwardTarget target);
  net::Task<Turn> unwritten(Exchange exchange, ForwardTarget target, Status sent);
  static void note_unwritten(ForwardExchange& exchange, const Status& sent);
  net::Headers answer_headers(net::Headers headers) const;

  // Lose, and end.
  net::Task<Turn> lost(Exchange exchange, ForwardTarget target, TargetEnd end);
  net::Task<Turn> after_loss(Exchange exchange);
  bool ends_engines(ForwardExchange& exchange) const;
  net::Task<void> refuse(Exchange exchange, int status, std::string message);
  net::Task<void> answer_whole(Exchange exchange, net::HttpResponse response);
  net::Task<void> end_with(Exchange exchange, std::string event);

  std::unique_ptr<TargetChooser> own_chooser_;
  TargetChooser& chooser_;
  net::HttpClient& client_;
  ForwardPolicy policy_;
  const Clock& clock_;
  net::Notify changed_;
  DoorCounts counts_;
  TimePoint idle_since_;
  std::set<Exchange> live_;
  std::function<void(const net::HttpRequest&)> on_local_ = [](const net::HttpRequest&) {};
  bool holding_ = false;
  bool leaving_ = false;
  bool draining_ = false;
  bool expired_ = false;
};

}  // namespace kantha::noded
