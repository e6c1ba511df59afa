#include "operator/local/local_world.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/local/control_api.h"
#include "operator/local/local_rules.h"
#include "operator/serving/model_serving_to_json.h"
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
               .changed = [this] { wake_.notify(); }} {}

LocalWorld::~LocalWorld() {
  if (listen_fd_ >= 0) close(listen_fd_);
}

Result<LocalWorld::Desired> LocalWorld::desired_from(serving::ModelServingFile file) const {
  if (!file.ok()) {
    std::string text = file.problem_text();
    text.resize(text.size() - std::min<std::size_t>(1, text.size()));
    return invalid_argument(std::move(text));
  }
  Desired out{std::move(*file.serving), {}, {}, {}};
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
  return open_sockets();
}

void LocalWorld::adopt_spec(Desired desired) {
  for (const std::string& sentence : local_notices(desired.serving)) {
    const bool told = !desired_.serving.metadata.name.empty() &&
                      desired_.serving.spec.autoscaling == desired.serving.spec.autoscaling &&
                      desired_.serving.spec.gateway == desired.serving.spec.gateway;
    if (!told) events_.notice(sentence);
  }
  if (replicas_.file_says(desired.serving.replicas_or_default())) {
    events_.notice("the file's own replicas changed; the number set by scale no longer holds");
  }
  desired_ = std::move(desired);
  desired_.serving.spec.replicas = replicas_.wanted();
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
  replicas_.scale_says(replicas);
  if (desired_.serving.spec.replicas != replicas) {
    desired_.serving.spec.replicas = replicas;
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

void LocalWorld::create_pod(std::int64_t ordinal) {
  if (clock_.now() < act_after_) return;
  Result<std::string> dir = dir_->make_pod_dir(ordinal);
  note_outcome(serving::pod_name(desired_.serving, ordinal),
               dir.ok() ? ok_status() : Status(dir.error()));
  if (!dir.ok()) return;
  auto pod =
      std::make_shared<LocalPod>(setting_, ordinal, std::move(dir).value(), desired_.target());
  pod->start();
  pods_.emplace(ordinal, std::move(pod));
}

void LocalWorld::restart_engine(LocalPod& pod) {
  if (clock_.now() < act_after_) return;
  note_outcome(pod.facts().name, pod.restart_engine(desired_.target()));
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
  if (action.kind == serving::ActionKind::kCreatePod) return create_pod(action.ordinal);
  const auto found = pods_.find(action.ordinal);
  CHECK(found != pods_.end(), "the plan acts on pods that it was shown");
  LocalPod& pod = *found->second;
  if (action.kind == serving::ActionKind::kDrainPod) {
    pod.drain(clock_.now() + std::chrono::seconds(desired_.serving.spec.drain.timeout_seconds));
  } else if (action.kind == serving::ActionKind::kDeletePod) {
    pod.terminate();
  } else {
    restart_engine(pod);
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

void LocalWorld::reconcile() {
  remove_gone_pods();
  const serving::Plan plan = serving::plan(gather(), clock_.now());
  for (const serving::Action& action : plan.actions) apply(action);
  settled_ = plan.settled && plan.actions.empty();
  publish(plan);
}

void LocalWorld::answer_for_no_pod() {
  if (stops_ > 0 || replicas_.wanted() > 0) return vacancy_.close();
  const Status opened = vacancy_.open(listen_fd_, desired_.serving.metadata.name);
  if (!opened.ok()) log_debug("requests wait for a pod", {{"error", opened.error().message}});
}

void LocalWorld::tell_fleet() {
  std::vector<serving::FleetMember> ready;
  for (const auto& [ordinal, pod] : pods_) {
    if (std::optional<serving::FleetMember> member = pod->fleet_member()) {
      ready.push_back(*std::move(member));
    }
  }
  fleet_.observe(desired_.serving.metadata.name, ready);
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
  if (view == view_) return;
  view_ = std::move(view);
  events_.changed(view_);
}

Json LocalWorld::object() const {
  Json out = serving::to_json(desired_.serving);
  out["spec"]["model"]["name"] = desired_.serving.served_name();
  out["status"] = status_json(view_, generation_);
  return out;
}

net::Task<void> LocalWorld::answer(net::HttpRequest request, net::ResponseWriter& writer) {
  const ControlTarget target{.name = desired_.serving.metadata.name,
                             .object = [this] { return object(); },
                             .scale = [this](std::int64_t count) { return scale(count); }};
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
