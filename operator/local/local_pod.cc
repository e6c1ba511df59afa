#include "operator/local/local_pod.h"

#include <csignal>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "base/whole_file.h"
#include "operator/local/pod_admin.h"

namespace kantha::local {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAskReadyPod = 1s;
constexpr Duration kAskStartingPod = 100ms;
constexpr Duration kTermGrace = 5s;
constexpr int kListenFdInChild = 3;

}  // namespace

LocalPod::LocalPod(const PodSetting& setting, std::int64_t ordinal, std::string dir,
                   PodTarget target)
    : setting_(setting), dir_(std::move(dir)), target_(std::move(target)), wake_(setting.executor) {
  facts_.ordinal = ordinal;
  facts_.name = serving::pod_name(target_.serving, ordinal);
  facts_.pod_revision = target_.revision.pod;
}

Status LocalPod::write_config() {
  const std::string text =
      serving::engine_config_json(target_.serving, {target_.model_path, dir_ + "/engine.sock"});
  TRY_OK(replace_whole_file(dir_ + "/engine.json", text));
  facts_.told_revision = target_.revision.whole;
  facts_.told_config_hash = serving::engine_config_hash(text);
  return ok_status();
}

ProcessSpec LocalPod::noded_command() const {
  const serving::ModelServing& serving = target_.serving;
  const std::string& image = serving.spec.engine.image;
  ProcessSpec spec;
  spec.binary = setting_.noded_binary;
  spec.args = {"--pod",
               facts_.name,
               "--model",
               serving.served_name(),
               "--listen-fd",
               std::to_string(kListenFdInChild),
               "--admin",
               "unix:" + admin_socket(),
               "--peer-listen",
               "unix:" + peer_socket(),
               "--engine-binary",
               image.empty() ? setting_.default_engine_binary : image,
               "--engine-config",
               dir_ + "/engine.json",
               "--engine-socket",
               dir_ + "/engine.sock",
               "--engine-log",
               dir_ + "/engine.log",
               "--drain-timeout-seconds",
               std::to_string(serving.spec.drain.timeout_seconds)};
  if (const auto& http = serving.spec.model.source.http) {
    spec.args.insert(spec.args.end(), {"--model-url", http->url, "--model-sha256", http->sha256,
                                       "--model-cache", setting_.fetch_cache});
  }
  const serving::GatewayLimits& limits = serving.spec.gateway.limits;
  if (!target_.api_keys_path.empty()) {
    spec.args.insert(spec.args.end(), {"--api-keys-file", target_.api_keys_path});
  }
  if (!target_.golden_path.empty()) {
    spec.args.insert(spec.args.end(), {"--golden-prompts", target_.golden_path});
  }
  spec.args.insert(spec.args.end(),
                   {"--requests-per-minute", std::to_string(limits.requests_per_minute),
                    "--tokens-per-minute", std::to_string(limits.tokens_per_minute)});
  spec.inherit = {{setting_.listen_fd, kListenFdInChild}};
  spec.log_path = dir_ + "/noded.log";
  return spec;
}

Status LocalPod::spawn_noded() {
  TRY_OK(write_config());
  if (target_.serving.spec.model.source.http) {
    // noded says what is wrong when this cannot be made.
    std::error_code ignored;
    std::filesystem::create_directories(setting_.fetch_cache, ignored);
  }
  TRY(process_, Process::spawn(noded_command()));
  facts_.running = true;
  facts_.state.reset();
  facts_.unreachable.clear();
  silent_since_.reset();
  return ok_status();
}

void LocalPod::try_to_start() {
  const Status spawned = spawn_noded();
  if (!spawned.ok()) {
    facts_.last_exit = spawned.error().message;
    backoff_.ended(setting_.clock.now());
  }
  setting_.changed();
}

void LocalPod::start() {
  try_to_start();
  setting_.tasks.spawn(ask_for_state(shared_from_this()));
}

Status LocalPod::restart_engine(PodTarget target) {
  target_ = std::move(target);
  TRY_OK(write_config());
  restart_wanted_ = true;
  wake_.notify();
  return ok_status();
}

void LocalPod::drain(TimePoint deadline) {
  if (facts_.drain_deadline) return;
  facts_.drain_deadline = deadline;
  drain_wanted_ = true;
  wake_.notify();
}

void LocalPod::terminate() {
  if (facts_.terminating) return;
  facts_.terminating = true;
  if (process_) process_->signal(SIGTERM);
  kill_at_ = setting_.clock.now() + kTermGrace;
  wake_.notify();
}

void LocalPod::kill() {
  facts_.terminating = true;
  if (process_) process_->signal(SIGKILL);
  wake_.notify();
}

void LocalPod::note_exit(const ProcessExit& exit) {
  process_.reset();
  facts_.running = false;
  facts_.state.reset();
  facts_.last_exit = exit.to_string();
  backoff_.ended(setting_.clock.now());
  log_debug("noded ended", {{"pod", facts_.name}, {"how", facts_.last_exit}});
  wake_.notify();
  setting_.changed();
}

void LocalPod::tick() {
  const TimePoint now = setting_.clock.now();
  if (process_) {
    if (const auto exit = process_->poll()) return note_exit(*exit);
    if (facts_.terminating && kill_at_ && now >= *kill_at_) process_->signal(SIGKILL);
    return;
  }
  // A pod that was told to drain has no more work; the planner deletes it.
  if (facts_.terminating || facts_.drain_deadline || now < backoff_.start_at()) return;
  ++facts_.noded_restarts;
  try_to_start();
}

void LocalPod::note_state(Result<noded::PodState> answer, pid_t asked_pid) {
  if (!process_ || process_->pid() != asked_pid) return;
  if (!answer.ok()) {
    facts_.unreachable = answer.error().message;
    backoff_.unhealthy();
    const TimePoint now = setting_.clock.now();
    if (!silent_since_) silent_since_ = now;
    if (now - *silent_since_ >= setting_.hung_after) {
      log_debug("noded does not answer and is killed", {{"pod", facts_.name}});
      process_->signal(SIGKILL);
    }
    return setting_.changed();
  }
  silent_since_.reset();
  facts_.unreachable.clear();
  facts_.state = std::move(answer).value();
  facts_.state_at = setting_.clock.now();
  if (facts_.state->phase == noded::EnginePhase::kReady) {
    backoff_.healthy(facts_.state_at);
  } else {
    backoff_.unhealthy();
  }
  setting_.changed();
}

std::optional<serving::FleetMember> LocalPod::fleet_member() const {
  const bool there =
      process_ && facts_.state && setting_.clock.now() - facts_.state_at <= kStateFreshFor;
  if (!there) return std::nullopt;
  serving::FleetMember out;
  // One that leaves is told who is there, too: its streams may have to go on somewhere else.
  out.ready = facts_.state->phase == noded::EnginePhase::kReady && !facts_.terminating &&
              !facts_.drain_deadline;
  out.id = facts_.name;
  out.peer = {facts_.name, "unix:" + peer_socket(), target_.serving.served_name(),
              serving::short_revision(facts_.told_revision)};
  // Whatever their engines are: a stream whose new engine crashes goes on at an old one.
  out.made_as = target_.serving.served_name() + "\n" + target_.model_path;
  out.incarnation = std::to_string(process_->pid());
  return out;
}

net::Task<Status> LocalPod::tell_fleet(noded::FleetView view) {
  return put_fleet_view(setting_.client, admin_socket(), std::move(view));
}

net::Task<void> LocalPod::ask_for_state(std::shared_ptr<LocalPod> self) {
  while (!self->gone()) {
    if (self->process_) {
      const pid_t pid = self->process_->pid();
      Result<noded::PodState> answer =
          co_await get_pod_state(self->setting_.client, self->admin_socket());
      const bool answered = answer.ok();
      self->note_state(std::move(answer), pid);
      if (answered && self->drain_wanted_) co_await send_drain(self);
      if (answered && self->restart_wanted_) co_await send_restart(self);
    }
    const PodFacts& facts = self->facts_;
    const bool calm = facts.running && facts.state && !facts.drain_deadline &&
                      facts.state->phase == noded::EnginePhase::kReady &&
                      facts.state->config_hash == facts.told_config_hash;
    if (self->gone()) break;
    co_await self->wake_.wait(calm ? kAskReadyPod : kAskStartingPod);
  }
}

net::Task<void> LocalPod::send_drain(std::shared_ptr<LocalPod> self) {
  // noded takes a second drain for "now": a lost answer must not send one, its state tells.
  self->drain_wanted_ = false;
  if (self->facts_.state && self->facts_.state->phase == noded::EnginePhase::kDraining) co_return;
  const Status sent = co_await post_drain(self->setting_.client, self->admin_socket());
  if (!sent.ok()) self->drain_wanted_ = true;
}

net::Task<void> LocalPod::send_restart(std::shared_ptr<LocalPod> self) {
  const std::string hash = self->facts_.told_config_hash;
  self->restart_wanted_ = false;
  if (self->facts_.state && self->facts_.state->config_hash == hash) co_return;
  const Status sent =
      co_await post_restart_engine(self->setting_.client, self->admin_socket(), hash);
  if (!sent.ok()) self->restart_wanted_ = true;
}

}  // namespace kantha::local
