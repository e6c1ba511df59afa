#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "cli/sim_setup.h"
#include "cli/step_picture.h"
#include "cli/verbs.h"
#include "engine/sim/arrival_file.h"

/// `kantha sim`: what an engine would do with a load, without an engine.
namespace kantha::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  kantha sim --lengths 4,2,3,2,1 --slots 3         how batches share slots, step by step\n"
    "  kantha sim --poisson 0.5,0.8,1.0 --slots 16      latency at these shares of the capacity\n"
    "  kantha sim --trace arrivals.jsonl --blocks 2048  a recorded load on a smaller engine\n"
    "  kantha sim --users 5 --each 4 --shape 200:1400   a closed loop of users\n";

/// Text and JSON of one answer, filled side by side.
struct Answer {
  std::string text;
  Json json;
};

Result<Answer> lengths_answer(const SimFlags& flags, const SimSetup& setup) {
  Answer answer;
  answer.json = {{"lengths", setup.lengths}, {"slots", flags.run.sequences_max}};
  for (const sim::Policy& policy : setup.policies) {
    TRY(const StepPicture steps, step_picture(setup.lengths, flags.run.sequences_max, policy));
    const std::string name(sim::name_of(policy.kind));
    answer.text += fmt::format("{}: {} steps, {:.0f} % of the slots used\n", name, steps.steps,
                               steps.slots_used * 100) +
                   steps.picture;
    answer.json["policies"][name] = {{"steps", steps.steps}, {"slots_used", steps.slots_used}};
  }
  return answer;
}

/// The workload under every policy.
Result<Answer> compared(const sim::Workload& workload, const SimFlags& flags,
                        const SimSetup& setup) {
  Answer answer;
  std::vector<std::string> names;
  std::vector<sim::Report> reports;
  for (const sim::Policy& policy : setup.policies) {
    TRY(const sim::Trace trace, sim::run(workload, policy, flags.run));
    names.emplace_back(sim::name_of(policy.kind));
    reports.push_back(sim::report(trace, setup.slo));
    answer.json[names.back()] = sim::to_json(reports.back());
  }
  answer.text = sim::report_table(names, reports);
  return answer;
}

Result<Answer> poisson_answer(const SimFlags& flags, const SimSetup& setup) {
  Answer answer;
  const sim::Workload sample = sim::poisson(setup.shape, 1, flags.requests, flags.seed);
  TRY(const double capacity, sim::capacity_per_second(sample, {}, flags.run));
  answer.json = {{"capacity_per_second", capacity}, {"loads", Json::array()}};
  answer.text =
      fmt::format("a load of 1 is what continuous batching carries: {:.3f} requests/s\n", capacity);
  for (const sim::Policy& policy : setup.policies) {
    if (policy.kind == sim::PolicyKind::kContinuous) continue;
    TRY(const double other, sim::capacity_per_second(sample, policy, flags.run));
    const std::string name(sim::name_of(policy.kind));
    answer.text += fmt::format("{} carries {:.3f} requests/s\n", name, other);
    answer.json["capacity_of"][name] = other;
  }
  for (const double load : setup.loads) {
    const double rate = load * capacity;
    const sim::Workload workload = sim::poisson(setup.shape, rate, flags.requests, flags.seed);
    TRY(const Answer one, compared(workload, flags, setup));
    answer.text += fmt::format("\nload {:g}: {:.3f} requests/s\n", load, rate) + one.text;
    answer.json["loads"].push_back(
        {{"load", load}, {"rate_per_second", rate}, {"policies", one.json}});
  }
  return answer;
}

Result<Answer> arrivals_answer(const SimFlags& flags, const SimSetup& setup) {
  if (flags.users > 0) {
    const Duration think(static_cast<std::int64_t>(flags.think_s * 1e9));
    return compared(sim::closed_loop(setup.shape, flags.users, flags.each, think, flags.seed),
                    flags, setup);
  }
  TRY(const sim::Workload workload, sim::read_arrival_file(flags.trace));
  return compared(workload, flags, setup);
}

int run_sim(SimFlags& flags) {
  set_log_level(LogLevel::kError);  // preemptions are in the report
  const Result<SimSetup> setup = sim_setup(flags);
  if (!setup.ok()) {
    fail("sim", setup.error().message);
    return kExitUsage;
  }
  const Result<Answer> answer = !setup->lengths.empty() ? lengths_answer(flags, *setup)
                                : !setup->loads.empty() ? poisson_answer(flags, *setup)
                                                        : arrivals_answer(flags, *setup);
  if (!answer.ok()) {
    fail("sim", answer.error().message);
    return answer.error().code == Code::kInvalidArgument ? kExitUsage : kExitFailed;
  }
  std::fputs(flags.json ? (answer->json.dump(2) + "\n").c_str() : answer->text.c_str(), stdout);
  return kExitDone;
}

}  // namespace

void add_sim(CLI::App& app, Verb& chosen) {
  auto flags = std::make_shared<SimFlags>();
  CLI::App* verb = app.add_subcommand("sim", "Show what an engine would do with a load");
  add_sim_flags(*verb, *flags);
  verb->footer(kExamples);
  verb->callback([flags, &chosen] { chosen = [flags] { return run_sim(*flags); }; });
}

}  // namespace kantha::cli
