#include "operator/local/local_world.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/local/control_api.h"
#include "operator/local/local_rules.h"
#include "operator/serving/model_serving_to_json.h"
#include "operator/serving/observe_cluster.h"
#include "operator/serving/plan_workload.h"
#include "operator/serving/weights_condition.h"

namespace kantha::local {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLookAtFileEvery = 500ms;
constexpr Duration kTickSettled = 500ms;
constexpr Duration kTickBusy = 50ms;
constexpr Duration kActAgain = 2s;
constexpr std::size_t kTailLines = 5;
constexpr std::size_t kTailBytes = 4096;

/// The last lines of a file, at most 4 KiB.
std::string tail_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const auto size = static_cast<std::size_t>(stream.tellg());
  const std::size_t from = size > kTailBytes ? size - kTailBytes : 0;
  stream.seekg(static_cast<std::streamoff>(from));
  std::string text(size - from, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::size_t at = text.size();
  for (std::size_t lines = 0; lines <= kTailLines && at != std::string::npos && at > 0; ++lines) {
    at = text.rfind('\n', at - 1);
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

}  // namespace

LocalWorld::LocalWorld(boost::asio::any_io_executor executor, const Clock& clock,
                       WorldOptions options, WorldEvents events)
    : executor_(executor),
      clock_(clock),
      options_(std::move(options)),
      events_(std::move(events)),
      file_(options_.file),
      client_(executor),
      tasks_(executor, "local-world"),
      wake_(executor),
      vacancy_(executor, tasks_),
      setting_{.executor = executor,
               .client = client_,
               .tasks = tasks_,
               .clock = clock,
               .noded_binary = options_.places.bin_dir + "/kantha-noded",
               .default_engine_binary = options_.places.bin_dir + "/kantha-engine",
               .fetch_cache = fetch_cache_of(options_.places),
               .listen_fd = -1,
               .hung_after = options_.noded_hung_after,
               .changed = [this] { wake_.notify(); }},
      autoscaler_(options_.scale_every) {}

LocalWorld::~LocalWorld() {
  if (listen_fd_ >= 0) close(listen_fd_);
}

Result<LocalWorld::Desired> LocalWorld::desired_from(serving::ModelServingFile file) const {
  if (!file.ok()) {
    std::string text = file.problem_text();
    text.resize(text.size() - std::min<std::size_t>(1, text.size()));
    return invalid_argument(std::move(text));
  }
  return desired_of(std::move(*file.serving));
}

Result<LocalWorld::Desired> LocalWorld::desired_of(serving::ModelServing serving) const {
  Desired out{std::move(serving), {}, {}, {}, {}};
  std::string problems;
  for (const serving::Problem& problem : local_problems(out.serving)) {
    problems += (problems.empty() ? "" : "\n") + problem.path + ": " + problem.message + " (" +
                options_.file + ")";
  }
  if (!problems.empty()) return invalid_argument(std::move(problems));
  const serving::ModelSource& source = out.serving.spec.model.source;
  if (source.http) {
    out.model_path = fetch_cache_of(options_.places) + "/" + source.http->sha256;
  } else {
    TRY(out.model_path, find_model(*source.host_path, options_.file, options_.places));
  }
  TRY(out.api_keys_path, find_api_keys(out.serving.spec.gateway.auth_secret, options_.file));
  TRY(out.golden_path,
      find_golden_prompts(out.serving.spec.rollout.gates.golden_prompts_config_map, options_.file));
  out.revision = serving::revision_of(out.serving, out.model_path);
  return out;
}

Status LocalWorld::check_programs() const {
  const bool own_engine = desired_.serving.spec.engine.image.empty();
  for (const std::string& path :
       {setting_.noded_binary, own_engine ? setting_.default_engine_binary : std::string()}) {
    if (path.empty() || access(path.c_str(), X_OK) == 0) continue;
    return not_found("no program at " + path + "; build it, or set KANTHA_BIN_DIR to its folder");
  }
  return ok_status();
}

Status LocalWorld::open_sockets() {
  TRY(auto opened, net::open_listener(options_.listen));
  listen_fd_ = setting_.listen_fd = opened.first;
  endpoint_ = opened.second;
  control_ = std::make_unique<net::HttpServer>(
      executor_, [this](net::HttpRequest request, net::ResponseWriter& writer) {
        return answer(std::move(request), writer);
      });
  net::Endpoint control;
  control.unix_path = dir_->control_socket();
  TRY(control, control_->listen(control));
  return ok_status();
}

Status LocalWorld::open() {
  TRY(Desired desired, desired_from(file_.read()));
  adopt_spec(std::move(desired));
  TRY_OK(check_programs());
  TRY(WorldDir dir, WorldDir::claim(options_.places.run_root, desired_.serving.metadata.name));
  dir_.emplace(std::move(dir));
  rollout_file_.emplace(options_.places.run_root, desired_.serving.metadata.name);
  rollout_ = rollout_file_->read();
  return open_sockets();
}

void LocalWorld::adopt_spec(Desired desired) {
  // A file that leaves the count to autoscaling says where to begin, and nothing later.
  const bool leaves_it =
      generation_ > 0 && desired.serving.spec.autoscaling && !desired.serving.spec.replicas;
  if (!leaves_it && replicas_.file_says(desired.serving.replicas_or_default())) {
    events_.notice("the file's own replicas changed; the number set by scale no longer holds");
  }
  verbs_.file_says(desired.serving.spec.rollout.paused);
  desired_ = std::move(desired);
  desired_.serving.spec.replicas = replicas_.wanted();
  verbs_.apply(desired_.serving.spec.rollout);
  desired_.serving.metadata.generation = ++generation_;
}

void LocalWorld::look_at_file() {
  const TimePoint now = clock_.now();
  if (now - looked_at_ < kLookAtFileEvery) return;
  looked_at_ = now;
  std::optional<serving::ModelServingFile> edited = file_.look();
  if (!edited) return;
  Result<Desired> desired = desired_from(std::move(*edited));
  if (!desired.ok()) {
    events_.notice("the edit is not taken, the old spec goes on serving:\n" +
                   desired.error().message);
    return;
  }
  const std::string& name = desired_.serving.metadata.name;
  if (desired->serving.metadata.name != name) {
    events_.notice("the edit is not taken: metadata.name cannot change while \"" + name +
                   "\" runs");
    return;
  }
  serving::ModelServingSpec before = desired_.serving.spec;
  before.replicas = replicas_.wanted();
  adopt_spec(std::move(desired).value());
  if (before != desired_.serving.spec) events_.notice("the edited file is taken");
}

Status LocalWorld::scale(std::int64_t replicas) {
  if (stops_ > 0) return unavailable("\"" + desired_.serving.metadata.name + "\" is ending");
  set_replicas(replicas);
  wake_.notify();
  return ok_status();
}

void LocalWorld::set_replicas(std::int64_t replicas) {
  replicas_.scale_says(replicas);
  if (desired_.serving.spec.replicas == replicas) return;
  desired_.serving.spec.replicas = replicas;
  desired_.serving.metadata.generation = ++generation_;
}

void LocalWorld::look_at_pressure() {
  std::vector<serving::ScalePod> pods;
  for (const auto& [ordinal, pod] : pods_) {
    if (auto sample = scale_pod(pod->facts(), clock_.now())) pods.push_back(*std::move(sample));
  }
  const auto wanted = autoscaler_.look(desired_.serving, pods, holds_scale_in(), clock_);
  if (wanted) take_count(*wanted);
}

void LocalWorld::look_at_zero() {
  std::vector<serving::ZeroPod> pods;
  std::int64_t available = 0;
  for (const auto& [ordinal, pod] : pods_) {
    if (auto one = zero_pod(pod->facts(), clock_.now())) pods.push_back(*std::move(one));
    if (serving::is_available(observe(pod->facts(), clock_.now()))) ++available;
  }
  const auto wanted = autoscaler_.look_at_zero(desired_.serving, std::move(pods), available,
                                               somebody_knocks(), holds_scale_in(), clock_);
  if (wanted) take_count(*wanted);
}

/// Carries out what the autoscaler has just decided.
void LocalWorld::take_count(std::int64_t wanted) {
  const serving::Decision& made = autoscaler_.decisions().back();
  events_.notice("replicas " + made.from + " → " + made.to + ": " + made.reason + " (" +
                 made.inputs + ")");
  set_replicas(wanted);
}

std::string LocalWorld::holds_scale_in() const {
  const bool rolls = serving::moves_pods(rollout_) && serving::count_outdated(gather()) > 0;
  return rolls ? "a rollout is under way" : "";
}

/// Connections that nobody has accepted stay in the kernel, which tells that there are some.
bool LocalWorld::somebody_knocks() const {
  pollfd door{.fd = listen_fd_, .events = POLLIN, .revents = 0};
  return poll(&door, 1, 0) == 1 && (door.revents & POLLIN) != 0;
}

Status LocalWorld::patch(const Json& patch) {
  if (stops_ > 0) return unavailable("\"" + desired_.serving.metadata.name + "\" is ending");
  TRY_OK(verbs_.take(patch));
  const serving::RolloutSpec before = desired_.serving.spec.rollout;
  verbs_.apply(desired_.serving.spec.rollout);
  if (before != desired_.serving.spec.rollout) {
    desired_.serving.metadata.generation = ++generation_;
  }
  wake_.notify();
  return ok_status();
}

serving::Observed LocalWorld::gather() const {
  serving::Observed out;
  out.serving = desired_.serving;
  out.target = desired_.revision;
  // The end of the world is scaling to zero: the same planner drains it.
  if (stops_ > 0) out.serving.spec.replicas = 0;
  for (const auto& [ordinal, pod] : pods_) {
    out.pods.push_back(observe(pod->facts(), clock_.now()));
  }
  return out;
}

PodTarget LocalWorld::target_of(const serving::Action& action) const {
  if (!action.to_last_good) return desired_.target();
  CHECK(last_good_.has_value(), "pods are divided only while there is a last good revision");
  return last_good_->target();
}

void LocalWorld::create_pod(std::int64_t ordinal, PodTarget target) {
  if (clock_.now() < act_after_) return;
  Result<std::string> dir = dir_->make_pod_dir(ordinal);
  note_outcome(serving::pod_name(desired_.serving, ordinal),
               dir.ok() ? ok_status() : Status(dir.error()));
  if (!dir.ok()) return;
  auto pod =
      std::make_shared<LocalPod>(setting_, ordinal, std::move(dir).value(), std::move(target));
  pod->start();
  pods_.emplace(ordinal, std::move(pod));
}

void LocalWorld::restart_engine(LocalPod& pod, PodTarget target) {
  if (clock_.now() < act_after_) return;
  note_outcome(pod.facts().name, pod.restart_engine(std::move(target)));
}

/// The planner wants the same again at every tick; a full disk is tried now and then, told once.
void LocalWorld::note_outcome(const std::string& pod, const Status& outcome) {
  if (outcome.ok()) return failure_told_.clear();
  act_after_ = clock_.now() + kActAgain;
  const std::string failure = pod + ": " + outcome.error().message;
  if (failure != failure_told_) events_.notice(failure);
  failure_told_ = failure;
}

void LocalWorld::apply(const serving::Action& action) {
  if (action.kind == serving::ActionKind::kCreatePod) {
    return create_pod(action.ordinal, target_of(action));
  }
  const auto found = pods_.find(action.ordinal);
  CHECK(found != pods_.end(), "the plan acts on pods that it was shown");
  LocalPod& pod = *found->second;
  if (action.kind == serving::ActionKind::kDrainPod) {
    pod.drain(clock_.now() + std::chrono::seconds(desired_.serving.spec.drain.timeout_seconds));
  } else if (action.kind == serving::ActionKind::kDeletePod) {
    pod.terminate();
  } else {
    restart_engine(pod, target_of(action));
  }
}

void LocalWorld::remove_gone_pods() {
  for (auto it = pods_.begin(); it != pods_.end();) {
    it->second->tick();
    if (it->second->gone()) {
      dir_->remove_pod_dir(it->first);
      it = pods_.erase(it);
    } else {
      ++it;
    }
  }
}

/// The spec that a failed rollout goes back to, resolved as the file's own; what it was made of may
/// be gone by now, and then there is no way back.
void LocalWorld::refresh_last_good() {
  // Which golden prompts there are is a matter of pacing in the spec, and of the pods.
  const std::string& golden = desired_.serving.spec.rollout.gates.golden_prompts_config_map;
  const std::string made_of = rollout_.good_spec + "\n" + golden;
  if (made_of == last_good_text_) {
    if (last_good_) {
      last_good_->serving.spec.replicas = desired_.serving.spec.replicas;
      last_good_->serving.metadata = desired_.serving.metadata;
    }
    return;
  }
  last_good_text_ = made_of;
  last_good_.reset();
  const auto serving = serving::with_revision_spec(desired_.serving, rollout_.good_spec);
  if (!serving) return;
  Result<Desired> good = desired_of(*serving);
  if (good.ok()) {
    last_good_ = std::move(good).value();
  } else {
    events_.notice("the last good revision " + rollout_.last_good +
                   " cannot be run any more: " + good.error().message);
  }
}

void LocalWorld::gather_evidence(const serving::Observed& observed) {
  std::vector<serving::PodEvidence> out;
  for (const serving::ObservedPod& pod : observed.pods) {
    const PodFacts& facts = pods_.at(pod.ordinal)->facts();
    if (!facts.state || !serving::is_available(pod)) continue;
    out.push_back({pod.name,
                   std::to_string(facts.noded_restarts),
                   serving::was_told_target(observed, pod),
                   facts.state->sample,
                   facts.state->engine_restarts,
                   {facts.state_at, serving::kv_share_of(*facts.state), facts.state->streams}});
  }
  evidence_.observe(rollout_, out);
}

void LocalWorld::roll_out(serving::Observed& observed) {
  if (stops_ > 0) return;
  refresh_last_good();
  gather_evidence(observed);
  serving::RolloutInput input{observed, {}, {}, {}};
  if (last_good_) input.last_good = last_good_->revision;
  input.target_spec =
      serving::revision_spec_text(desired_.serving, desired_.serving.spec.engine.image);
  if (serving::is_judged(rollout_)) {
    input.verdict = serving::judge(evidence_.evidence(), desired_.serving.spec.rollout);
  }
  serving::RolloutStep step = serving::plan_rollout(rollout_, input, clock_.wall_now());
  std::vector<serving::Decision> made;
  for (const serving::RolloutEvent& event : step.events) {
    made.push_back({"Rollout", std::string(serving::rollout_phase_name(rollout_.phase)),
                    std::string(serving::rollout_phase_name(step.state.phase)), event.reason,
                    event.message, clock_.wall_now()});
  }
  rollout_decisions_ = serving::with_decisions(std::move(rollout_decisions_), made);
  rollout_ = std::move(step.state);
  observed.split = std::move(step.split);
  for (const serving::RolloutEvent& event : step.events) {
    events_.notice(event.reason + ": " + event.message);
  }
  // Written before its deeds: after a crash nothing is tried again that has failed.
  const Status kept = rollout_file_->write(rollout_);
  if (!kept.ok()) log_debug("the rollout's state is not kept", {{"error", kept.error().message}});
}

void LocalWorld::reconcile() {
  remove_gone_pods();
  serving::Observed observed = gather();
  roll_out(observed);
  const serving::Plan plan = serving::plan(observed, clock_.now());
  for (const serving::Action& action : plan.actions) apply(action);
  settled_ = plan.settled && plan.actions.empty();
  publish(plan);
}

void LocalWorld::answer_for_no_pod() {
  const auto& scaling = desired_.serving.spec.autoscaling;
  const bool waits_for_pod = scaling && scaling->may_sleep();
  if (stops_ > 0 || replicas_.wanted() > 0 || waits_for_pod) return vacancy_.close();
  const Status opened = vacancy_.open(listen_fd_, desired_.serving.metadata.name);
  if (!opened.ok()) log_debug("requests wait for a pod", {{"error", opened.error().message}});
}

void LocalWorld::tell_fleet() {
  std::vector<serving::FleetMember> members;
  for (const auto& [ordinal, pod] : pods_) {
    if (std::optional<serving::FleetMember> member = pod->fleet_member()) {
      members.push_back(*std::move(member));
    }
  }
  fleet_.observe(desired_.serving.metadata.name, members);
  for (auto& message : fleet_.take_due(clock_.now(), clock_.wall_now(), pods_.size())) {
    for (const auto& [ordinal, pod] : pods_) {
      if (pod->facts().name == message.id) tasks_.spawn(tell(message, pod));
    }
  }
}

net::Task<void> LocalWorld::tell(serving::FleetPlan::Message message,
                                 std::shared_ptr<LocalPod> pod) {
  const Status told = co_await pod->tell_fleet(message.view);
  if (!told.ok()) {
    log_debug("noded took no fleet view", {{"pod", message.id}, {"error", told.error().message}});
  }
  fleet_.answered(message, told.ok(), clock_.now());
}

std::vector<serving::Condition> LocalWorld::conditions_of(const serving::Plan& plan) const {
  std::vector<serving::Condition> out = plan.conditions;
  for (serving::Condition& condition : out) {
    if (condition.type != "Progressing" || stops_ > 0) continue;
    condition = serving::progress_condition(rollout_, std::move(condition));
  }
  out.push_back(serving::gate_condition(rollout_, desired_.serving));
  out.back().observed_generation = desired_.serving.metadata.generation;
  if (const auto scaling = autoscaler_.condition()) {
    out.push_back(*scaling);
    out.back().observed_generation = desired_.serving.metadata.generation;
  }
  if (!desired_.serving.spec.model.source.http) return out;
  bool any_ready = false;
  std::vector<serving::PodWeightsView> weights;
  for (const auto& [ordinal, pod] : pods_) {
    const PodFacts& facts = pod->facts();
    if (!facts.state) continue;
    any_ready = any_ready || facts.state->phase == noded::EnginePhase::kReady;
    if (facts.state->weights) weights.push_back({facts.name, *facts.state->weights});
  }
  out.push_back(serving::weights_condition(any_ready, weights));
  return out;
}

void LocalWorld::publish(const serving::Plan& plan) {
  WorldView view;
  view.name = desired_.serving.metadata.name;
  view.model = desired_.serving.served_name();
  view.endpoint = "http://" + endpoint_.to_string();
  view.counts = plan.counts;
  view.target_revision = serving::short_revision(desired_.revision.whole);
  view.conditions = conditions_.date(conditions_of(plan), clock_.wall_now());
  for (const auto& [ordinal, pod] : pods_) {
    view.pods.push_back(pod_view(pod->facts(), clock_.now()));
  }
  const std::vector<serving::Decision>& scaled = autoscaler_.decisions();
  std::merge(scaled.begin(), scaled.end(), rollout_decisions_.begin(), rollout_decisions_.end(),
             std::back_inserter(view.decisions),
             [](const auto& a, const auto& b) { return a.at < b.at; });
  view.decisions = serving::with_decisions(std::move(view.decisions), {});
  if (view == view_) return;
  view_ = std::move(view);
  events_.changed(view_);
}

Json LocalWorld::object() const {
  Json out = serving::to_json(desired_.serving);
  out["spec"]["model"]["name"] = desired_.serving.served_name();
  WorldView view = view_;
  view.scaling = autoscaler_.arithmetic();
  out["status"] = status_json(view, generation_);
  out["status"]["rollout"] = serving::to_json(rollout_);
  if (!rollout_.last_good.empty()) out["status"]["currentRevision"] = rollout_.last_good;
  return out;
}

net::Task<void> LocalWorld::answer(net::HttpRequest request, net::ResponseWriter& writer) {
  const ControlTarget target{.name = desired_.serving.metadata.name,
                             .object = [this] { return object(); },
                             .scale = [this](std::int64_t count) { return scale(count); },
                             .patch = [this](const Json& change) { return patch(change); }};
  net::HttpResponse response = answer_control(request, target);
  const Status sent = co_await writer.send(std::move(response));
  if (!sent.ok()) log_debug("control answer not sent", {{"error", sent.error().message}});
}

void LocalWorld::stop() {
  ++stops_;
  if (stops_ > 1) {
    for (const auto& [ordinal, pod] : pods_) pod->kill();
  }
  wake_.notify();
}

net::Task<void> LocalWorld::run() {
  while (true) {
    if (stops_ == 0) look_at_file();
    if (stops_ == 0) look_at_pressure();
    if (stops_ == 0) look_at_zero();
    reconcile();
    answer_for_no_pod();
    tell_fleet();
    if (stops_ > 0 && pods_.empty()) break;
    // Woken by facts, but looking at children's exits needs a tick of its own.
    co_await wake_.wait(settled_ ? kTickSettled : kTickBusy);
  }
  control_->close();
  co_await tasks_.join();
  close(std::exchange(listen_fd_, -1));
  dir_.reset();
}

std::string LocalWorld::log_tail() const {
  std::string out;
  for (const auto& [ordinal, pod] : pods_) {
    for (const char* name : {"/noded.log", "/engine.log"}) {
      const std::string tail = tail_of(pod->dir() + name);
      if (!tail.empty()) out += "--- " + pod->facts().name + name + "\n" + tail;
    }
    if (!out.empty()) break;
  }
  return out;
}

}  // namespace kantha::local
