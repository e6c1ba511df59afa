#include "cli/sim_setup.h"

#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <charconv>
#include <cmath>
#include <string_view>

#include "engine/sim/length_mix.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kLengthsMax = 10'000;
constexpr std::int32_t kLengthMax = 100'000;
constexpr double kLoadMax = 10;
constexpr std::int32_t kRequestsMax = 1'000'000;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <class Number>
Result<std::vector<Number>> numbers(const char* flag, const char* what, std::string_view text,
                                    Number min, Number max) {
  std::vector<Number> out;
  for (const std::string_view part : split(text)) {
    Number number{};
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool whole = error == std::errc() && end == part.data() + part.size();
    if (!whole || !(number >= min && number <= max)) {
      std::string message = std::string(flag) + ": expected " + what + ", got \"";
      return invalid_argument(message + std::string(part) + "\"");
    }
    out.push_back(number);
  }
  if (out.size() > kLengthsMax) {
    return invalid_argument(std::string(flag) + ": expected at most " +
                            std::to_string(kLengthsMax) + " numbers, got " +
                            std::to_string(out.size()));
  }
  return out;
}

Duration milliseconds(double ms) { return Duration(std::llround(ms * 1e6)); }

void add_workload_flags(CLI::App& verb, SimFlags& flags) {
  verb.add_option("--lengths", flags.lengths,
                  "Outputs of requests that are all there, in steps: 4,2,3,2,1");
  verb.add_option("--poisson", flags.poisson,
                  "Random arrivals at these shares of the engine's capacity: 0.5,0.8,1.0");
  verb.add_option("--trace", flags.trace,
                  "Arrivals from a file of lines {\"at_ms\", \"prompt_tokens\", \"output_tokens\", "
                  "\"prefix_id\"?, \"prefix_tokens\"?, \"tenant\"?, \"class\"?, \"priority\"?, "
                  "\"timeout_ms\"?}");
  verb.add_option("--users", flags.users, "So many users, each of whom waits for the last answer")
      ->check(CLI::Range(1, 10'000));
  verb.add_option("--each", flags.each, "--users: requests of each (20)")
      ->check(CLI::Range(1, 100'000));
  verb.add_option("--think", flags.think_s, "--users: seconds before the next request (0)")
      ->check(CLI::Range(0.0, 86'400.0));
  verb.add_option("--shape", flags.shape,
                  "Lengths in tokens: sharegpt, or PROMPT:OUTPUT as in 200:100 or 200~0.8:100~0.5 "
                  "(median~spread)");
  verb.add_option("--prefixes", flags.prefixes, "So many system prompts are shared (0)")
      ->check(CLI::Range(0, 1'000'000));
  verb.add_option("--prefix-tokens", flags.prefix_tokens, "Tokens of a system prompt (0)")
      ->check(CLI::Range(0, 1 << 20));
  verb.add_option("--requests", flags.requests, "--poisson: requests per load (4000)")
      ->check(CLI::Range(1, kRequestsMax));
  verb.add_option("--seed", flags.seed, "The same seed gives the same bytes (1)");
}

void add_engine_flags(CLI::App& verb, SimFlags& flags) {
  sim::RunOptions& run = flags.run;
  verb.add_option("--slots", run.sequences_max, "Sequences at once; the size of a batch (64)")
      ->check(CLI::Range(1, 4096));
  verb.add_option("--blocks", run.block_count, "KV blocks (4096)")->check(CLI::Range(1, 1 << 24));
  verb.add_option("--block-size", run.block_size, "Tokens per block (16)")
      ->check(CLI::Range(1, 256));
  verb.add_option("--context", run.context_max, "Longest prompt and output together (8192)")
      ->check(CLI::Range(2, 1 << 21));
  verb.add_option("--step-tokens", run.step_tokens_max, "Most tokens of a step (256)")
      ->check(CLI::Range(1, 1 << 16));
  verb.add_option("--itl-target", flags.itl_target_ms,
                  "Most ms between two tokens that a step may cause; 0: 1.6 decode steps (0)")
      ->check(CLI::Range(0.0, 1e6));
  verb.add_option("--queue", run.requests_queued_max, "Most requests that wait (1024)")
      ->check(CLI::Range(1, kRequestsMax));
  verb.add_option("--queue-tokens", run.prompt_tokens_queued_max,
                  "Most prompt tokens that wait (1048576)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  verb.add_flag("--no-prefix-cache", flags.no_prefix_cache, "Compute every prompt");
  verb.add_flag("--newest-first", flags.newest_first,
                "continuous: start what fits now and preempt the newest, as other engines do");
  verb.add_option("--cost", flags.cost,
                  "The machine, as fixed_ms=5.3,row_ms=0.47,output_row_ms=0.45,context_us=0.3");
}

}  // namespace

void add_sim_flags(CLI::App& verb, SimFlags& flags) {
  add_workload_flags(verb, flags);
  add_engine_flags(verb, flags);
  verb.add_option("--policy", flags.policies, "Of static, dynamic, continuous (all)");
  verb.add_option("--max-wait", flags.max_wait_ms, "dynamic: ms until a batch starts (100)")
      ->check(CLI::Range(0.0, 1e9));
  verb.add_option("--slo-ttft", flags.slo_ttft_ms, "Goodput: ms to the first token (2000)")
      ->check(CLI::Range(0.0, 1e9));
  verb.add_option("--slo-itl", flags.slo_itl_ms, "Goodput: mean ms between tokens (50)")
      ->check(CLI::Range(0.0, 1e9));
  verb.add_flag("--json", flags.json, "Print JSON");
}

Result<SimSetup> sim_setup(SimFlags& flags) {
  const int workloads = (flags.lengths.empty() ? 0 : 1) + (flags.poisson.empty() ? 0 : 1) +
                        (flags.trace.empty() ? 0 : 1) + (flags.users == 0 ? 0 : 1);
  if (workloads != 1) {
    return invalid_argument("expected one of --lengths, --poisson, --trace and --users, got " +
                            std::to_string(workloads));
  }
  SimSetup setup;
  if (!flags.lengths.empty()) {
    TRY(setup.lengths, numbers<std::int32_t>("--lengths", "integers in [1, 100000] with commas",
                                             flags.lengths, 1, kLengthMax));
  }
  if (!flags.poisson.empty()) {
    TRY(setup.loads, numbers<double>("--poisson", "numbers in [0.01, 10] with commas",
                                     flags.poisson, 0.01, kLoadMax));
  }
  for (const std::string_view name : split(flags.policies)) {
    auto kind = sim::policy_from_name(name);
    if (!kind.ok()) return std::move(kind).error().with_context("--policy");
    setup.policies.push_back({*kind, milliseconds(flags.max_wait_ms)});
  }
  TRY(setup.shape, sim::shape_from_text(flags.shape));
  setup.shape.prefixes = flags.prefixes;
  setup.shape.prefix_tokens = flags.prefix_tokens;
  setup.slo = {milliseconds(flags.slo_ttft_ms), milliseconds(flags.slo_itl_ms)};
  if (!flags.cost.empty()) {
    TRY(flags.run.cost, sim::cost_model_from_text(flags.cost));
  }
  if (flags.newest_first) {
    flags.run.victims = sched::VictimRule::kNewest;
    flags.run.foresight = false;
  }
  flags.run.prefix_caching = !flags.no_prefix_cache;
  flags.run.itl_target = milliseconds(flags.itl_target_ms);
  flags.run.seed = flags.seed;
  return setup;
}

}  // namespace kantha::cli
