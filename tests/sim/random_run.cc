#include "tests/sim/random_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "tests/sim/sim_world.h"

namespace kantha::sim {
namespace {

using namespace std::chrono_literals;

/// Draws numbers in order; a run draws the same ones for the same seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return random_bits(seed_, count_++) % bound; }
  bool chance(double share) { return random_unit(seed_, count_++) < share; }
  double unit() { return random_unit(seed_, count_++); }
  Duration span(Duration max) { return std::chrono::duration_cast<Duration>(max * unit()); }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

const char* const kImages[] = {"example.com/engine:1", "example.com/engine:2",
                               "example.com/engine:3"};
const char* const kBadImages[] = {"example.com/engine:none", "example.com/engine:crash",
                                  "example.com/engine:stuck"};

/// A merge patch of spec that the schema takes and that can be served.
Json good_edit(Dice& dice) {
  switch (dice.below(8)) {
    case 0: return {{"engine", {{"config", {{"maxNumSeqs", 4 << dice.below(4)}}}}}};
    case 1: return {{"engine", {{"config", {{"maxModelLen", 1024 << dice.below(3)}}}}}};
    case 2: return {{"engine", {{"image", kImages[dice.below(3)]}}}};
    case 3: return {{"resources", {{"memory", fmt::format("{}Gi", 2 + dice.below(4))}}}};
    case 4: return {{"model", {{"name", fmt::format("m{}", dice.below(3))}}}};
    case 5: return {{"rollout", {{"maxUnavailable", 1 + dice.below(2)}}}};
    case 6: return {{"drain", {{"timeoutSeconds", 20 + dice.below(3) * 10}}}};
    default:
      return {{"scheduling", {{"nodeSelector", {{"pool", fmt::format("p{}", dice.below(2))}}}}}};
  }
}

/// One that the schema takes and that can't work.
Json bad_edit(Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return {{"model",
               {{"source",
                 {{"hostPath", nullptr},
                  {"http",
                   {{"url", "https://example.com/m.gguf"}, {"sha256", std::string(64, 'a')}}}}}}}};
    case 1: return {{"resources", {{"accelerator", {{"count", 64}}}}}};
    default: return {{"engine", {{"image", kBadImages[dice.below(3)]}}}};
  }
}

class Life {
 public:
  explicit Life(std::uint64_t seed)
      : dice_(seed), world_(options_of(seed, dice_)), names_({"a", "b", "c"}) {
    names_.resize(1 + dice_.below(3));
    world_.kubelets().set_image(kBadImages[0], {.pulls = false});
    world_.kubelets().set_image(kBadImages[1], {.crashes = true});
    world_.kubelets().set_image(kBadImages[2], {.never_ready = true});
  }

  RandomRun live() {
    world_.keep_operator([this](OperatorRun& run) { prepare(run); }, 1s);
    const auto acts = 4 + dice_.below(12);
    for (std::uint64_t i = 0; i < acts; ++i) {
      act();
      world_.run_for(dice_.chance(0.3) ? dice_.span(60s) : dice_.span(8s));
    }
    mend();
    check();
    return result();
  }

 private:
  static WorldOptions options_of(std::uint64_t seed, Dice& dice) {
    WorldOptions options;
    options.seed = seed;
    options.server.renders_managed_fields = false;
    options.server.expired_as_status = dice.chance(0.5);
    options.server.supports_watch_list = dice.chance(0.7);
    options.server.sends_bookmarks = dice.chance(0.8);
    options.server.watch_timeout_min = 20s + dice.span(400s);
    options.server.history.age = 30s + dice.span(300s);
    options.times.load = 500ms + dice.span(8s);
    options.times.drain = 200ms + dice.span(8s);
    options.times.pull = 100ms + dice.span(2s);
    options.nodes.nodes = static_cast<int>(1 + dice.below(4));
    options.limits.unseen = 120s;  // what a lagging or cut-off operator may not have seen
    return options;
  }

  void prepare(OperatorRun& run) {
    if (is_mended_) return;
    fake::FaultRates rates;
    if (dice_.chance(0.6)) {
      const double scale = dice_.chance(0.2) ? 0.1 : 0.02;
      rates = {.refuse = scale * dice_.unit(),
               .drop_answer = scale * dice_.unit(),
               .hang = scale * dice_.unit() / 4,
               .error_before = scale * dice_.unit(),
               .error_after = scale * dice_.unit(),
               .throttle = scale * dice_.unit(),
               .garble = scale * dice_.unit() / 4,
               .delay = scale * 3 * dice_.unit()};
    }
    const std::uint64_t crash = dice_.chance(0.5) ? 3 + dice_.below(120) : ~0ULL;
    const bool after = dice_.chance(0.5);
    const auto faults = fake::seeded_faults(dice_.below(1ULL << 40), rates);
    run.transport().set_faults([=](std::uint64_t index, const fake::ApiRequest& request) {
      return index == crash ? fake::crash_at(crash, after)(index, request) : faults(index, request);
    });
    if (dice_.chance(0.4)) {
      const std::uint64_t seed = dice_.below(1ULL << 40);
      run.transport().set_watch_faults([seed](std::uint64_t index, const fake::ApiRequest&) {
        const double draw = random_unit(seed, index);
        if (draw < 0.1) return fake::WatchFault{.ends_at_once = true};
        if (draw > 0.6) return fake::WatchFault{};
        return fake::WatchFault{.cut_after_bytes = 1 + random_bits(seed, index) % 50'000};
      });
    }
    if (dice_.chance(0.15)) {
      run.transport().view().frozen_at = world_.server().store().version();
      frozen_.push_back(&run);
    }
  }

  void act() {
    const std::string& name = names_[dice_.below(names_.size())];
    const bool exists = world_.serving(name) != nullptr;
    const bool is_going =
        exists && (*world_.serving(name))["metadata"].contains("deletionTimestamp");
    if (!exists) {
      world_.create_serving(name, {{"replicas", dice_.below(4)}});
      return;
    }
    if (is_going) return meddle(name);
    switch (dice_.below(12)) {
      case 0:
      case 1:
      case 2: world_.patch_serving(name, {{"spec", good_edit(dice_)}}); break;
      case 3: world_.patch_serving(name, {{"spec", bad_edit(dice_)}}); break;
      case 4:
      case 5: world_.scale(name, static_cast<std::int64_t>(dice_.below(5))); break;
      case 6:
        world_.patch_serving(
            name, {{"metadata", {{"labels", {{"team", std::to_string(dice_.below(9))}}}}}});
        break;
      case 7: world_.delete_serving(name); break;
      case 8: lose_node(); break;
      case 9: trouble_nodeds(); break;
      case 10: thaw(); break;
      default: meddle(name); break;
    }
  }

  void meddle(const std::string& name) {
    const auto pods = world_.pods(name);
    auto& server = world_.server();
    switch (dice_.below(6)) {
      case 0: server.remove(kube::kServices, {"default", name}, "somebody"); break;
      case 1: server.remove(kube::kServiceAccounts, {"default", name}, "somebody"); break;
      case 2: server.remove(kube::kPodDisruptionBudgets, {"default", name}, "somebody"); break;
      case 3: server.compact(); break;
      case 4:
        if (!pods.empty()) {
          const Json& pod = *pods[dice_.below(pods.size())];
          server.remove(kube::kPods, {"default", pod["metadata"]["name"]}, "somebody");
        }
        break;
      default:
        if (!pods.empty()) {
          const Json& pod = *pods[dice_.below(pods.size())];
          world_.kubelets().crash_engine(pod["metadata"]["uid"]);
        }
    }
  }

  void lose_node() {
    const int index = static_cast<int>(dice_.below(4));
    if (dice_.chance(0.5)) {
      world_.kubelets().lose_node(index);
    } else {
      world_.kubelets().restore_node(index);
    }
  }

  void trouble_nodeds() {
    const std::uint64_t seed = dice_.below(1ULL << 40);
    const double share = dice_.unit() / 2;
    world_.nodeds().set_faults([=](std::uint64_t index) {
      if (random_unit(seed, index) > share) return DoorFault::kNone;
      return static_cast<DoorFault>(1 + random_bits(seed, index) % 4);
    });
  }

  void thaw() {
    for (OperatorRun* run : frozen_) run->transport().view().frozen_at.reset();
    frozen_.clear();
    world_.server().changed().notify();
  }

  void mend() {
    is_mended_ = true;
    thaw();
    for (int i = 0; i < 4; ++i) world_.kubelets().restore_node(i);
    world_.nodeds().set_faults({});
    auto& current = world_.current().transport();
    current.set_faults({});
    current.set_watch_faults({});
    world_.run_for(30s);
    for (const std::string& name : names_) {
      if (world_.serving(name) == nullptr) continue;
      final_[name] = {{"replicas", 1 + dice_.below(3)}};
      const Json back = {
          {"model", {{"source", {{"hostPath", "/models/smollm2.gguf"}, {"http", nullptr}}}}},
          // A revision that may have failed among the faults is not tried again, so it is another.
          {"engine", {{"image", kImages[dice_.below(3)]}, {"config", {{"maxNumSeqs", 41}}}}},
          {"resources", {{"accelerator", nullptr}}},
          {"replicas", final_[name]["replicas"]}};
      world_.patch_serving(name, {{"spec", back}});
    }
    // Longer than the longest back-off of a key that has failed often.
    is_settled_ = world_.settle(20min, 6h);
  }

  void check() {
    auto& checks = world_.checks();
    checks.check_end();
    failures_ = checks.failures();
    if (!is_settled_) failures_.emplace_back("does not settle after all faults ended");
    checks.mark();
    world_.run_for(1h);
    if (checks.writes_since_mark() != 0) {
      failures_.push_back(fmt::format("{} writes in an idle hour", checks.writes_since_mark()));
    }
    for (const std::string& name : names_) {
      const auto object = world_.serving(name);
      if (object == nullptr) {
        if (!world_.pods(name).empty()) failures_.push_back(name + " is gone and left pods");
        continue;
      }
      if ((*object)["metadata"].contains("deletionTimestamp")) {
        failures_.push_back(name + " is still being deleted");
      } else if (!world_.is_whole(name)) {
        failures_.push_back(name + " is not whole");
      } else if (!world_.is_available(name)) {
        failures_.push_back(name + " is whole and does not say so");
      }
    }
    compare_with_fresh_install();
  }

  /// F44's oracle: the same specs, installed on an empty cluster without faults.
  void compare_with_fresh_install() {
    WorldOptions options;
    options.server.renders_managed_fields = false;
    SimWorld fresh(options);
    for (const std::string& name : names_) {
      const auto object = world_.serving(name);
      if (object == nullptr) continue;
      Json copy = {{"apiVersion", (*object)["apiVersion"]}, {"kind", (*object)["kind"]}};
      copy["metadata"] = {{"name", name}, {"namespace", "default"}};
      const Json labels = (*object)["metadata"].value("labels", Json());
      if (!labels.is_null()) copy["metadata"]["labels"] = labels;
      copy["spec"] = (*object)["spec"];
      fresh.server().create(kube::kModelServings, copy, "user");
    }
    fresh.keep_operator({});
    fresh.settle(60s);
    const auto expected = end_state(fresh.server());
    auto got = end_state(world_.server());
    std::erase_if(got, [&](const auto& entry) {  // revisions of the past are kept for a while
      const bool is_revision =
          entry.first.starts_with("ConfigMap ") && entry.first.find("-r-") != std::string::npos;
      return is_revision && !expected.contains(entry.first);
    });
    for (std::string& line : state_differences(expected, got)) {
      failures_.push_back("unlike a fresh install: " + std::move(line));
    }
  }

  RandomRun result() {
    RandomRun run;
    run.failures = failures_;
    run.writes = world_.checks().our_writes();
    run.operators = static_cast<int>(world_.operator_count());
    if (!run.failures.empty()) run.report = world_.report();
    return run;
  }

  Dice dice_;
  SimWorld world_;
  std::vector<std::string> names_;
  std::vector<OperatorRun*> frozen_;
  std::map<std::string, Json> final_;
  std::vector<std::string> failures_;
  bool is_mended_ = false;
  bool is_settled_ = false;
};

}  // namespace

RandomRun random_run(std::uint64_t seed) { return Life(seed).live(); }

}  // namespace kantha::sim
