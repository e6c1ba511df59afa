#include "bench/load/bench_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/version.h"
#include "bench/load/request_body.h"

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSampleEvery = 1s;
/// Indices of the warm-up are far from those of the load, so that no prompt is sent twice.
constexpr std::uint64_t kWarmupIndex = 1ULL << 40;

Duration from_s(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::string iso_time(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

/// The share of `total` that belongs to this round; the rounds' shares add up to the total.
int share_of(int total, int round, int rounds) {
  return total * (round + 1) / rounds - total * round / rounds;
}

RequestShape shape_of(const BenchOptions& options, int window, std::uint64_t index) {
  const bool is_traced = index < options.trace.size();
  RequestShape shape =
      is_traced ? options.trace[index].shape : request_shape(options.workload, index);
  fit_to_window(shape, window);
  return shape;
}

net::Task<RequestLog> send_request(std::shared_ptr<net::HttpClient> client, ServerDoor door,
                                   PreparedRequest request, RequestShape shape, TimePoint origin,
                                   std::shared_ptr<net::CancelSignal> cancel) {
  RequestLog log = co_await exchange(std::move(client), std::move(door), std::move(request), origin,
                                     std::move(cancel));
  log.input_tokens_wanted = shape.input_tokens;
  co_return log;
}

/// What cannot fit the window at all, or was cut.
void judge_window(const BenchOptions& options, TargetReport& target) {
  const int window = target.facts.window;
  int cut = 0;
  for (int i = 0; i < std::max(options.requests, 100); ++i) {
    RequestShape shape = shape_of(options, 0, static_cast<std::uint64_t>(i));
    cut += fit_to_window(shape, window) ? 1 : 0;
  }
  if (cut == 0) return;
  target.warnings.push_back(fmt::format(
      "about {} % of the requests were made shorter to fit the server's window of {} tokens",
      cut * 100 / std::max(options.requests, 100), window));
}

/// All targets get the same prompts, so whoever comes second would find them in the cache.
void warn_of_twins(const std::vector<TargetReport>& targets, TargetReport& target) {
  for (const TargetReport& other : targets) {
    const std::string place = other.target.endpoint.to_string();
    if (&other == &target || place != target.target.endpoint.to_string()) continue;
    target.warnings.push_back("is the same server as " + other.target.name +
                              " and gets the same prompts: a prefix cache makes the second faster");
  }
}

}  // namespace

BenchRun::BenchRun(boost::asio::any_io_executor executor, BenchOptions options,
                   OnProgress on_progress)
    : executor_(executor),
      options_(std::move(options)),
      on_progress_(std::move(on_progress)),
      client_(std::make_shared<net::HttpClient>(executor)),
      driver_(executor),
      phase_ended_(std::move(executor)) {}

void BenchRun::stop() {
  driver_.stop();
  probe_cancel_->cancel();
}

ServerDoor BenchRun::door_of(const Target& target) const {
  return {target.endpoint, options_.api_key, from_s(options_.timeout_s)};
}

net::Task<BenchReport> BenchRun::run() {
  BenchReport report{.options = options_};
  report.started_at = iso_time(system_clock().wall_now());
  report.version = std::string(kantha::version());
  for (const Target& target : options_.targets) report.targets.push_back({target});
  for (TargetReport& target : report.targets) {
    warn_of_twins(report.targets, target);
    co_await prepare(&target);
    co_await warm_up(&target);
  }
  std::vector<ServerWatch> watches(report.targets.size());
  const std::size_t count = report.targets.size();
  for (int round = 0; round < options_.round_count(); ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t which = (turn + static_cast<std::size_t>(round)) % count;
      co_await measure_round(&report.targets[which], &watches[which], round);
    }
  }
  const MeasureOptions measuring{options_.slo, options_.is_stream};
  for (std::size_t i = 0; i < count; ++i) {
    TargetReport& target = report.targets[i];
    for (const Phase& phase : target.phases) {
      target.rounds.push_back(measure({&phase, 1}, measuring));
    }
    target.all = measure(target.phases, measuring);
    target.server = watches[i].figures();
  }
  report.comparisons = compare(report.targets);
  report.was_interrupted = driver_.stopped();
  co_return report;
}

net::Task<void> BenchRun::prepare(TargetReport* target) {
  if (driver_.stopped()) co_return;
  on_progress_("asking " + target->target.name);
  const ServerDoor door = door_of(target->target);
  Result<ServerFacts> facts = co_await probe_server(client_, door, options_, probe_cancel_);
  if (!facts.ok()) {
    target->dead = facts.error().message;
    co_return;
  }
  target->facts = std::move(facts).value();
  if (!target->facts.trouble.empty()) {
    target->warnings.push_back("prompt lengths are a guess (" +
                               fmt::format("{:.1f}", target->facts.ratio.tokens_per_word) +
                               " tokens a word): " + target->facts.trouble);
  }
  judge_window(options_, *target);
}

net::Task<void> BenchRun::warm_up(TargetReport* target) {
  if (!target->dead.empty() || options_.warmup == 0 || driver_.stopped()) co_return;
  on_progress_(fmt::format("warming up {} with {} requests", target->target.name, options_.warmup));
  LoadPlan plan;
  plan.concurrency = std::clamp(options_.concurrency, 1, options_.warmup);
  plan.requests = static_cast<std::size_t>(options_.warmup);
  plan.first_index = kWarmupIndex;
  Sender sender = sender_of(target);
  const Phase phase = co_await driver_.run(std::move(plan), std::move(sender));
  const auto failed = std::ranges::count_if(phase.requests, &RequestLog::failed);
  if (failed == 0) co_return;
  target->warnings.push_back(
      fmt::format("{} of {} warm-up requests failed", failed, phase.requests.size()));
}

net::Task<void> BenchRun::measure_round(TargetReport* target, ServerWatch* watch, int round) {
  if (!target->dead.empty() || driver_.stopped()) co_return;
  on_progress_(options_.round_count() == 1
                   ? "measuring " + target->target.name
                   : fmt::format("measuring {}, round {} of {}", target->target.name, round + 1,
                                 options_.round_count()));
  const ServerDoor door = door_of(target->target);
  const MetricSums before = co_await scrape(client_, door);
  net::TaskGroup samples(executor_, "bench samples");
  is_measuring_ = true;
  if (!before.empty()) samples.spawn(sample_server(door, watch));
  LoadPlan plan = plan_of(round);
  Sender sender = sender_of(target);
  Phase phase = co_await driver_.run(std::move(plan), std::move(sender));
  is_measuring_ = false;
  phase_ended_.notify();
  co_await samples.join();
  target->phases.push_back(std::move(phase));
  if (before.empty()) co_return;
  const MetricSums after = co_await scrape(client_, door);
  if (!after.empty()) watch->add_phase(before, after);
}

net::Task<void> BenchRun::sample_server(ServerDoor door, ServerWatch* watch) {
  while (is_measuring_) {
    co_await phase_ended_.wait(kSampleEvery);
    if (!is_measuring_) co_return;
    const MetricSums sample = co_await scrape(client_, door);
    watch->add_sample(sample);
  }
}

LoadPlan BenchRun::plan_of(int round) const {
  const int rounds = options_.round_count();
  LoadPlan plan;
  plan.in_flight_max = options_.in_flight_max;
  const int before =
      static_cast<int>(static_cast<std::int64_t>(options_.requests) * round / rounds);
  const auto requests = static_cast<std::size_t>(share_of(options_.requests, round, rounds));
  const Duration length = from_s(options_.duration_s / rounds);
  // Without a number of requests, rounds are kept apart by what no round can reach.
  plan.first_index = static_cast<std::uint64_t>(
      options_.requests > 0 ? before : static_cast<std::int64_t>(round) << 24);
  if (!options_.trace.empty()) {
    for (std::size_t i = 0; i < requests; ++i) plan.due.push_back(options_.trace[i].due);
  } else if (options_.rate_per_s > 0) {
    plan.due = poisson_arrivals(options_.rate_per_s, requests, length, options_.workload.seed,
                                plan.first_index);
  } else {
    plan.concurrency = options_.concurrency;
    plan.requests = requests;
    plan.length = length;
  }
  return plan;
}

Sender BenchRun::sender_of(TargetReport* target) const {
  return [this, target](std::uint64_t index, TimePoint origin,
                        std::shared_ptr<net::CancelSignal> cancel) {
    const RequestShape shape = shape_of(options_, target->facts.window, index);
    const std::string prompt =
        prompt_text(options_.workload.seed, index, shape, target->facts.ratio);
    PreparedRequest request =
        prepare_request(options_, target->facts.model, prompt, shape.output_tokens);
    return send_request(client_, door_of(target->target), std::move(request), shape, origin,
                        std::move(cancel));
  };
}

}  // namespace kantha::bench
