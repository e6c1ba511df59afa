#include "noded/pod_daemon.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/net/json_answer.h"
#include "base/version.h"
#include "base/whole_file.h"
#include "noded/engine/config_file.h"
#include "noded/engine/external_engine.h"
#include "noded/engine/supervisor.h"
#include "noded/fleet/fleet_metrics.h"
#include "noded/gateway/discarding_writer.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

/// The first 48 bits of a digest: what a double holds exactly. 0 for what is no digest.
double digits_as_number(const std::string& hex) {
  constexpr std::size_t kDigits = 12;
  if (hex.size() < kDigits) return 0;
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + kDigits, out, 16);
  return error == std::errc{} && end == hex.data() + kDigits ? static_cast<double>(out) : 0;
}

/// For the last events and answers after the drain's time.
constexpr Duration kLastWords = std::chrono::seconds(2);
/// For the pod's own loops to see that it ends.
constexpr Duration kLastTasks = std::chrono::seconds(10);

SupervisePolicy policy_for(const Options& options) {
  SupervisePolicy policy;
  // The engine drains by itself on SIGTERM; it gets that time and some more before SIGKILL.
  policy.stop_timeout =
      std::min<Duration>(options.drain_timeout, std::chrono::seconds(30)) + std::chrono::seconds(5);
  policy.breaker_ends = options.breaker_ends;
  return policy;
}

FleetSettings fleet_settings_for(const Options& options) {
  FleetSettings settings;
  settings.pod = options.pod;
  settings.model = options.model;
  return settings;
}

ForwardPolicy forward_policy_for(const Options& options) {
  ForwardPolicy policy;
  policy.hold_timeout = options.hold_timeout;
  policy.resume_timeout = options.resume_timeout;
  return policy;
}

DoorSettings door_settings_for(const Options& options) {
  return {.pod = options.pod,
          .gate = {.api_keys_file = options.api_keys_file,
                   .model = options.model,
                   .pod_limits = {.requests_per_minute = options.requests_per_minute,
                                  .tokens_per_minute = options.tokens_per_minute}},
          .access_log = options.access_log};
}

std::unique_ptr<EngineKeeper> make_keeper(boost::asio::any_io_executor executor,
                                          const Options& options, const Clock& clock,
                                          net::HttpClient& client, const NodeFacts& node) {
  if (options.engine_external) {
    return std::make_unique<ExternalEngine>(executor, options.engine_socket, WatchPolicy(), clock,
                                            client);
  }
  const EngineLaunch launch{options.engine_binary, options.engine_config, options.engine_socket,
                            options.engine_log, node.engine_cpus};
  return std::make_unique<Supervisor>(executor, launch, policy_for(options), clock, client);
}

}  // namespace

PodDaemon::PodDaemon(boost::asio::io_context& context, Options options, const Clock& clock)
    : context_(context),
      options_(std::move(options)),
      clock_(clock),
      client_(context.get_executor()),
      devices_(context.get_executor(), clock, options_.gpu_library),
      keeper_(make_keeper(context.get_executor(), options_, clock, client_, devices_.facts())),
      weights_(options_.weights, *keeper_, clock),
      warmup_(context.get_executor(), weights_, *keeper_, client_, clock),
      handover_(context.get_executor(), clock, {.prompts_max = options_.hand_over_prompts}),
      guard_(options_.admin_token_file),
      seal_(
          options_.pod, [this] { return guard_.token(); }, clock),
      router_(context.get_executor(), warmup_, client_, seal_, fleet_settings_for(options_), clock),
      golden_(options_.golden_prompts, options_.model, *keeper_, client_),
      forwarder_(context.get_executor(), router_, client_, forward_policy_for(options_), clock),
      door_(warmup_, forwarder_, client_, metrics_, door_settings_for(options_), clock),
      hop_door_(router_, seal_,
                [this](net::HttpRequest request, net::ResponseWriter& writer) {
                  return door_.answer(std::move(request), writer);
                }),
      change_(context.get_executor(), *keeper_, forwarder_, options_.engine_config,
              options_.drain_timeout),
      tasks_(context.get_executor(), "pod") {
  join_fleet();
}

PodDaemon::~PodDaemon() = default;

Status PodDaemon::start() {
  TRY_OK(guard_.open());
  TRY_OK(door_.open());
  open_metrics();
  weights_.start();
  // An engine in a container of its own has the devices, and its own parent.
  if (!options_.engine_external) {
    devices_.watch([this] { keeper_->request_restart(); },
                   [this](std::string why) { leave_gpu(std::move(why)); });
  }
  if (weights_.ready()) bring_config();
  admin_server_ = std::make_unique<net::HttpServer>(
      context_.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return answer_admin(std::move(request), writer);
      });
  public_server_ = door_for(DoorKind::kPublic);
  TRY(const net::Endpoint admin, admin_server_->listen(options_.admin));
  TRY(const net::Endpoint open, options_.listen_fd >= 0 ? public_server_->adopt(options_.listen_fd)
                                                        : public_server_->listen(options_.listen));
  if (options_.peer_listen) {
    peer_server_ = door_for(DoorKind::kPeers);
    TRY(const net::Endpoint peers, peer_server_->listen(*options_.peer_listen));
    log_debug("peers are welcome", {{"listen", peers.to_string()}});
  }
  log_info("pod is up",
           {{"pod", options_.pod}, {"listen", open.to_string()}, {"admin", admin.to_string()}});
  tasks_.spawn(run_engine());
  tasks_.spawn(router_.run());
  tasks_.spawn(warmup_.run([this] { return draining_; }));
  tasks_.spawn(golden_.run([this] { return draining_; }));
  return ok_status();
}

std::unique_ptr<net::HttpServer> PodDaemon::door_for(DoorKind kind) {
  return std::make_unique<net::HttpServer>(
      context_.get_executor(), [this, kind](net::HttpRequest request, net::ResponseWriter& writer) {
        return hop_door_.answer(std::move(request), writer, kind);
      });
}

void PodDaemon::join_fleet() {
  forwarder_.on_local(
      [this](const net::HttpRequest& request) { warmup_.prompts().note(request, clock_.now()); });
  warmup_.set_hurry([this] { return draining_ || forwarder_.counts().held > 0; });
  router_.set_own_load([this] { return own_load(); });
  router_.on_lost([this](const std::string& peer) { forwarder_.recall_from(peer); });
  door_.set_peer_test(
      [](const net::HttpRequest& request) { return request.headers.find(kHopHeader).has_value(); });
}

/// Peers send nothing to a pod whose engine is about to be replaced, nor to one that leaves.
PeerLoad PodDaemon::own_load() const {
  PeerLoad load;
  load.phase = warmup_.phase();
  if (forwarder_.holding()) load.phase = EnginePhase::kStarting;
  if (forwarder_.leaving()) load.phase = EnginePhase::kDraining;
  load.kv_pressure = keeper_->reports().last().kv_pressure;
  if (const std::optional<TimePoint> since = keeper_->first_ready()) {
    load.ready_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - *since).count();
  }
  if (const std::optional<TimePoint> taken = keeper_->reports().taken()) {
    load.age_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - *taken).count();
  }
  return load;
}

/// Whoever runs the engine starts it as soon as its configuration is there, so that has to wait.
net::Task<void> PodDaemon::run_engine() {
  const bool waits = !weights_.ready();
  while (!weights_.ready() && !draining_) co_await net::sleep_for(kSuperviseTick);
  if (waits && weights_.ready()) {
    bring_config();
    if (early_config_) change_.configure(*std::exchange(early_config_, std::nullopt));
  }
  if (!weights_.ready()) keeper_->stop();
  co_await keeper_->run();
}

/// The daemon stays up without a usable configuration: its pages say why, and a push may bring one.
void PodDaemon::bring_config() {
  const std::string& source = options_.engine_config_source;
  Result<std::string> hash = source.empty() ? sha256_hex_of_file(options_.engine_config)
                                            : adopt_config(source, options_.engine_config);
  if (hash.ok()) {
    change_.set_told_hash(std::move(hash).value());
    if (const auto text = read_whole_file(options_.engine_config, kConfigBytesMax); text.ok()) {
      set_queue_bound(*text);
    }
    return;
  }
  // Without a source somebody else may still write the file.
  if (source.empty()) return;
  log_error("no engine configuration", {{"error", hash.error().to_string()}});
  change_.set_error(hash.error().message);
}

/// The door gathers no more for an engine that is not there than the engine would queue.
void PodDaemon::set_queue_bound(std::string_view config_text) {
  const Result<Json> config = parse_json(config_text);
  if (!config.ok()) return;
  const JsonFields fields(*config, "");
  const auto engine = fields.object("engine");
  if (!engine.ok() || !*engine) return;
  const auto bound =
      (*engine)->integer("maxQueuedTokens", 0, std::numeric_limits<std::int64_t>::max());
  if (bound.ok()) door_.gatekeeper().held().set_max(bound->value_or(0));
}

void PodDaemon::open_metrics() {
  const auto gauge = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.gauge(name, help, {{"pod", options_.pod}}, std::move(read));
  };
  const auto counter = [this](const char* name, const char* help, std::function<double()> read) {
    metrics_.counter(name, help, {{"pod", options_.pod}}, std::move(read));
  };
  const DoorCounts& counts = forwarder_.counts();
  gauge("kantha_noded_requests_in_flight", "Requests being answered",
        [&counts] { return static_cast<double>(counts.in_flight); });
  gauge("kantha_noded_requests_held", "Requests that wait for an engine",
        [&counts] { return static_cast<double>(counts.held); });
  counter("kantha_noded_requests_total", "Requests that reached the door",
          [&counts] { return static_cast<double>(counts.total); });
  counter("kantha_noded_requests_retried_total", "Requests sent to an engine again",
          [&counts] { return static_cast<double>(counts.retried); });
  counter("kantha_noded_streams_broken_total",
          "Streams that ended with an error event, since nobody went on with them",
          [&counts] { return static_cast<double>(counts.broken_streams); });
  const auto resumes = [this](const char* result, const std::int64_t& count) {
    metrics_.counter("kantha_noded_resumes_total",
                     "Streams that lost their engine and could be resumed, by what came of it",
                     {{"pod", options_.pod}, {"result", result}},
                     [&count] { return static_cast<double>(count); });
  };
  resumes("resumed", counts.resumed);
  resumes("completed", counts.completed);
  resumes("failed", counts.unresumed);
  gauge("kantha_noded_kept_bytes", "Bodies of requests that are kept for another engine",
        [&counts] { return static_cast<double>(counts.kept_bytes); });
  weights_.open_metrics(metrics_, options_.pod);
  warmup_.open_metrics(metrics_, options_.pod);
  gauge("kantha_noded_engine_ready", "1 when the engine may be used",
        [this] { return keeper_->ready() ? 1.0 : 0.0; });
  gauge("kantha_noded_tokenizer_digest",
        "First 12 digits of the SHA-256 of vocabulary and chat template, as a number; 0: not known",
        [this] { return digits_as_number(keeper_->reports().last().tokenizer_hash); });
  open_fleet_metrics(metrics_, options_.pod, router_, hop_door_);
  counter("kantha_noded_engine_restarts_total", "Engine starts after the first one",
          [this] { return static_cast<double>(keeper_->restarts()); });
}

PodState PodDaemon::state() {
  PodState state;
  state.pod = options_.pod;
  state.model = options_.model;
  state.version = version();
  state.draining = forwarder_.leaving();
  state.phase = state.draining ? EnginePhase::kDraining : warmup_.phase();
  state.message = warmup_.message();
  state.weights = weights_.state();
  if (!change_.error().empty()) state.message = change_.error() + "; " + state.message;
  if (!left_gpu_.empty()) state.message = left_gpu_ + "; " + state.message;
  state.config_hash = keeper_->config_hash();
  state.told_config_hash = change_.told_hash();
  state.engine_pid = keeper_->pid();
  state.engine_restarts = keeper_->restarts();
  // What is handed over is work, too, also before its first request is under way.
  const std::int64_t handing_over = handover_.is_over() ? 0 : 1;
  state.streams = std::max(forwarder_.counts().in_flight, handing_over);
  state.requests_held = forwarder_.counts().held;
  state.requests_total = forwarder_.counts().total;
  state.idle_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(forwarder_.idle_time()).count();
  state.asks_for_keys = door_.gatekeeper().key_file().asks_for_keys();
  state.api_keys = door_.gatekeeper().key_count();
  state.api_keys_error = door_.gatekeeper().key_file().error();
  state.streams_resumed = forwarder_.counts().resumed + forwarder_.counts().completed;
  state.streams_broken = forwarder_.counts().broken_streams;
  state.sample = door_.sample();
  state.golden = golden_.state();
  const EngineReport& report = keeper_->reports().last();
  state.engine_version = report.version;
  state.tokenizer_hash = report.tokenizer_hash;
  state.kv_blocks_total = report.blocks_total;
  state.kv_blocks_active = report.blocks_active;
  state.kv_blocks_cached = report.blocks_cached;
  state.kv_blocks_free = report.blocks_free;
  state.waiting_tokens = report.waiting_tokens;
  state.kv_pressure = report.kv_pressure;
  state.tokens_per_second = keeper_->reports().tokens_per_second();
  if (const std::optional<TimePoint> taken = keeper_->reports().taken()) {
    state.age_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - *taken).count();
  }
  return state;
}

net::Task<void> PodDaemon::answer_admin(net::HttpRequest request, net::ResponseWriter& writer) {
  const std::string path(request.path());
  const bool get = request.method == "GET";
  net::HttpResponse response;
  if (path == "/metrics" && get) {
    response = co_await door_.scrape();
  } else if (!guard_.admits(request.headers)) {
    response = door_error(401, "the admin API needs Authorization: Bearer <token>");
    response.headers.set("WWW-Authenticate", "Bearer");
  } else if (path == "/admin/v1/state" && get) {
    co_await keeper_->freshen_reports();
    Json body = to_json(state());
    body["node"] = devices_.state();
    response = net::json_answer(200, body);
  } else {
    response = answer_change(path, std::move(request));
  }
  co_await door_send(writer, std::move(response));
}

net::HttpResponse PodDaemon::answer_change(const std::string& path, net::HttpRequest request) {
  const bool post = request.method == "POST";
  if (path == "/admin/v1/drain" && post) {
    shut_down();
    return net::json_answer(202, {{"draining", true}});
  }
  if (path == "/admin/v1/fleet" && request.method == "PUT") return put_fleet(request.body);
  const bool restart = path == "/admin/v1/restart-engine" && post;
  const bool put = path == "/admin/v1/engine-config" && request.method == "PUT";
  if (!restart && !put) {
    return door_error(404, "no such admin route: " + request.method + " " + path);
  }
  if (draining_) return door_error(409, "this pod is draining");
  if (!left_gpu_.empty()) return door_error(409, left_gpu_);
  if (put) return put_config(std::move(request.body));
  change_.restart();
  // The local world writes a new configuration before it asks for this.
  if (const auto text = read_whole_file(options_.engine_config, kConfigBytesMax); text.ok()) {
    set_queue_bound(*text);
  }
  return net::json_answer(202, {{"restarting", true}});
}

/// 202 says that the text is fine and on its way; config_hash in the state says when it arrived.
net::HttpResponse PodDaemon::put_config(std::string text) {
  if (const Status fine = check_config_text(text); !fine.ok()) {
    const bool too_large = fine.error().code == Code::kOutOfRange;
    return door_error(too_large ? 413 : 400, fine.error().message);
  }
  set_queue_bound(text);
  if (!weights_.ready()) {
    change_.set_told_hash(sha256_hex(text));
    early_config_ = std::move(text);
    return net::json_answer(202, {{"config_hash", change_.told_hash()}, {"changes", true}});
  }
  const bool changes = change_.configure(std::move(text));
  return net::json_answer(202, {{"config_hash", change_.told_hash()}, {"changes", changes}});
}

net::HttpResponse PodDaemon::put_fleet(const std::string& text) {
  const Status taken = router_.take_view(text);
  if (taken.ok()) return net::json_answer(200, {{"peers", router_.peer_count()}});
  const bool of_another_time = taken.error().code == Code::kFailedPrecondition;
  return door_error(of_another_time ? 409 : 400, taken.error().message);
}

void PodDaemon::shut_down() {
  if (!draining_) {
    draining_ = true;
    tasks_.spawn(drain());
  } else if (!hurried_) {
    hurried_ = true;
    // Who is still here is told so, and not just left.
    forwarder_.expire();
    keeper_->stop();
    keeper_->hurry();
  }
}

/// Work that goes on at a device that failed may be wrong: streams go on at other pods, and the pod
/// stays, not ready, so that people see why. A start of its own would only find the same device.
void PodDaemon::leave_gpu(std::string why) {
  if (draining_ || !left_gpu_.empty()) return;
  log_error("this pod's engine is stopped for good", {{"reason", why}});
  left_gpu_ = std::move(why);
  tasks_.spawn(stop_engine());
}

net::Task<void> PodDaemon::stop_engine() {
  change_.abandon();
  forwarder_.set_holding(true);
  forwarder_.recall();
  const bool idle = co_await forwarder_.wait_idle(options_.drain_timeout);
  if (!idle) log_warn("the engine is stopped under running requests");
  keeper_->stop();
  // From then on it is the engine's phase that keeps requests from it.
  co_await net::sleep_for(2 * kSuperviseTick);
  forwarder_.set_holding(false);
}

net::Task<void> PodDaemon::drain() {
  log_info("pod is draining", {{"pod", options_.pod}, {"streams", forwarder_.counts().in_flight}});
  change_.abandon();
  forwarder_.set_leaving();
  hand_prompts_over();
  if (options_.endpoint_grace > Duration::zero()) co_await take_requests_for_the_grace();
  forwarder_.set_draining();
  router_.stop();
  co_await finish_running_requests();
  keeper_->stop();
  const TimePoint until = clock_.now() + std::chrono::seconds(60);
  while (keeper_->phase() != EnginePhase::kStopped && clock_.now() < until) {
    co_await net::sleep_for(kSuperviseTick);
  }
  log_info("pod is done", {{"pod", options_.pod}});
  admin_server_->close();
  public_server_->close();
  if (peer_server_) peer_server_->close();
  // This task is the last one of the pod's.
  const TimePoint give_up = clock_.now() + kLastTasks;
  do {
    co_await net::sleep_for(kSuperviseTick);
  } while (tasks_.running() > 1 && clock_.now() < give_up);
  context_.stop();
}

/// What this pod's users ask for most, the others compute before they ask there. From now on this
/// pod is nobody's choice, so each prompt goes to the pod that owns it next.
void PodDaemon::hand_prompts_over() {
  handover_.begin(
      warmup_.prompts().hottest(handover_.policy().prompts_max, clock_.now()),
      [this](net::HttpRequest request) { return have_computed(std::move(request)); },
      [this] { return !hurried_ && router_.knows_others(); });
  tasks_.spawn(handover_.join());
}

net::Task<bool> PodDaemon::have_computed(net::HttpRequest request) {
  DiscardingWriter nobody;
  co_await forwarder_.forward(std::move(request), nobody);
  co_return nobody.status() == 200;
}

net::Task<void> PodDaemon::take_requests_for_the_grace() {
  const TimePoint until = clock_.now() + options_.endpoint_grace;
  while (!hurried_ && clock_.now() < until) co_await net::sleep_for(kSuperviseTick);
}

net::Task<void> PodDaemon::finish_running_requests() {
  const TimePoint until = clock_.now() + options_.drain_timeout;
  if (!options_.engine_external) {
    // The shared socket goes on in other pods; what is already on our connections is refused
    // politely.
    public_server_->stop_accepting();
  }  // else late connections, too, are told that this pod leaves instead of being refused
  const auto is_done = [this] { return forwarder_.counts().in_flight == 0 && handover_.is_over(); };
  while (!hurried_ && !is_done() && clock_.now() < until) {
    co_await net::sleep_for(kSuperviseTick);
  }
  // Who is still here is told so.
  forwarder_.expire();
  co_await public_server_->drain(kLastWords);
}

}  // namespace kantha::noded
