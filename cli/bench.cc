#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "base/net/task.h"

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/net/task_group.h"
#include "base/rng.h"
#include "bench/load/bench_run.h"
#include "bench/load/report_html.h"
#include "bench/load/report_json.h"
#include "bench/load/report_table.h"
#include "cli/verbs.h"

namespace kantha::cli {
namespace {

/// Beside those of all verbs (verbs.h): measured, but the figures must not be used; Ctrl-C.
constexpr int kExitInvalid = 3;
constexpr int kExitInterrupted = 130;

/// The command line as it was typed.
struct BenchFlags {
  std::vector<std::string> urls;
  std::string trace;
  std::string input_tokens;
  std::string output_tokens;
  std::string slo;
  std::string api = "chat";
  std::string json_path;
  std::string html_path;
  bool has_seed = false;
  bool is_whole = false;
  bool is_quiet = false;
  bool stops_at_eos = false;
  bench::BenchOptions options;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return not_found(path + ": " + std::strerror(errno));
  return text.str();
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return unavailable("cannot write " + path + ": " + std::strerror(errno));
  return ok_status();
}

Status read_trace(const BenchFlags& flags, bench::BenchOptions& options) {
  if (flags.trace.empty()) return ok_status();
  Result<std::string> text = read_file(flags.trace);
  if (!text.ok()) return std::move(text).error().with_context("--trace");
  Result<std::vector<bench::TraceEntry>> trace = bench::parse_trace(*text);
  if (!trace.ok()) return std::move(trace).error().with_context("--trace " + flags.trace);
  options.trace = std::move(trace).value();
  return ok_status();
}

Result<bench::BenchOptions> options_of(const BenchFlags& flags) {
  bench::BenchOptions options = flags.options;
  for (const std::string& url : flags.urls) {
    TRY(bench::Target target, bench::parse_target(url));
    options.targets.push_back(std::move(target));
  }
  TRY_OK(read_trace(flags, options));
  if (!flags.input_tokens.empty()) {
    TRY(options.workload.input, bench::parse_lengths("--input-tokens", flags.input_tokens));
  }
  if (!flags.output_tokens.empty()) {
    TRY(options.workload.output, bench::parse_lengths("--output-tokens", flags.output_tokens));
  }
  if (!flags.slo.empty()) {
    TRY(options.slo, bench::parse_slo(flags.slo));
  }
  if (flags.api != "chat" && flags.api != "completions") {
    return invalid_argument("--api: expected chat or completions, got \"" + flags.api + "\"");
  }
  options.api = flags.api == "chat" ? bench::Api::kChat : bench::Api::kCompletions;
  options.is_stream = !flags.is_whole;
  options.ignore_eos = !flags.stops_at_eos;
  // A fresh seed by default: a server that has seen the prompts answers them from its cache. 32
  // bits, so that the number survives programs that read JSON numbers as doubles.
  if (!flags.has_seed) options.workload.seed = entropy_seed() >> 32;
  if (options.api_key.empty()) {
    const char* key = std::getenv("OPENAI_API_KEY");
    if (key != nullptr) options.api_key = key;
  }
  TRY_OK(bench::complete_options(options));
  return options;
}

net::Task<void> store_report(bench::BenchRun* run, bench::BenchReport* out) {
  *out = co_await run->run();
}

/// Until done, or until the second Ctrl-C, which does not wait.
bench::BenchReport run_to_end(const bench::BenchOptions& options, bool is_quiet) {
  boost::asio::io_context context(1);
  const bench::OnProgress show = [is_quiet](const std::string& line) {
    if (!is_quiet) std::fprintf(stderr, "%s …\n", line.c_str());
  };
  bench::BenchRun run(context.get_executor(), options, show);
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&run, &signals](const boost::system::error_code& failure, int) {
    if (failure) return;
    std::fprintf(stderr, "\nending; what was measured follows (again: end at once)\n");
    signals.clear();
    run.stop();
  });
  bench::BenchReport report;
  net::TaskGroup tasks(context.get_executor(), "bench");
  tasks.spawn(store_report(&run, &report));
  while (tasks.running() > 0 && context.run_one() > 0) {
  }
  return report;
}

int exit_status(const bench::BenchReport& report) {
  if (report.was_interrupted) return kExitInterrupted;
  if (!report.any_success()) return kExitFailed;
  return report.is_valid() ? kExitDone : kExitInvalid;
}

int run_bench(const BenchFlags& flags) {
  const Result<bench::BenchOptions> options = options_of(flags);
  if (!options.ok()) {
    fail("bench", options.error().message);
    return kExitUsage;
  }
  const bench::BenchReport report = run_to_end(*options, flags.is_quiet);
  const std::string table = bench::table_of(report);
  std::fwrite(table.data(), 1, table.size(), stdout);
  std::fflush(stdout);
  Status written = ok_status();
  if (!flags.json_path.empty()) {
    written = write_file(flags.json_path, dump_json(bench::json_of(report)) + "\n");
  }
  if (written.ok() && !flags.html_path.empty()) {
    written = write_file(flags.html_path, bench::html_of(report));
  }
  if (!written.ok()) return fail("bench", written.error().message);
  return exit_status(report);
}

void add_load_flags(CLI::App& verb, BenchFlags& flags) {
  bench::BenchOptions& o = flags.options;
  verb.add_option("--url", flags.urls,
                  "Server, [NAME=]http://HOST:PORT or [NAME=]unix:PATH; several are compared, each "
                  "against the first")
      ->default_val(std::vector<std::string>{"http://127.0.0.1:8000"});
  verb.add_option("--model", o.model, "Model; default: each server's first");
  verb.add_option("--api-key", o.api_key, "Bearer token; default: $OPENAI_API_KEY");
  verb.add_option("--concurrency", o.concurrency,
                  "Closed loop: so many requests at a time (default 1)")
      ->check(CLI::Range(1, 10'000));
  verb.add_option("--rate", o.rate_per_s, "Open loop: requests a second, Poisson arrivals")
      ->check(CLI::Range(0.001, 100'000.0));
  verb.add_option("--trace", flags.trace, "Open loop: arrivals from a file of JSON lines");
  verb.add_option("--requests", o.requests, "How many, over all rounds (default 100)")
      ->check(CLI::Range(1, 1'000'000));
  verb.add_option("--duration", o.duration_s, "Seconds, over all rounds")
      ->check(CLI::Range(0.1, 86'400.0 * 7));
  verb.add_option("--rounds", o.rounds, "Rounds (default 1; 5 when servers are compared)")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--warmup", o.warmup, "Requests that are not measured, per server")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  verb.add_option("--in-flight-max", o.in_flight_max, "Open loop: arrivals beyond are not sent")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  verb.add_option("--timeout", o.timeout_s, "Seconds for one request")
      ->check(CLI::Range(0.01, 86'400.0))
      ->capture_default_str();
}

CLI::Option* add_request_flags(CLI::App& verb, BenchFlags& flags) {
  bench::WorkloadOptions& w = flags.options.workload;
  verb.add_option("--workload", w.name, "random, sharegpt, shared-prefix, long-prompt or mixed")
      ->capture_default_str();
  verb.add_option("--input-tokens", flags.input_tokens, "N or MIN:MAX, instead of the workload's");
  verb.add_option("--output-tokens", flags.output_tokens,
                  "N or MIN:MAX, instead of the workload's");
  verb.add_option("--prefix-tokens", w.prefix_tokens, "Length of a shared prefix")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--prefixes", w.prefix_count, "How many different shared prefixes")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--api", flags.api, "chat or completions")->capture_default_str();
  verb.add_flag("--whole", flags.is_whole, "Ask for whole answers instead of streams");
  verb.add_flag("--stop-at-eos", flags.stops_at_eos,
                "Let answers end early; default: ignore_eos, all get their full length");
  verb.add_option("--slo", flags.slo, "Limits for goodput in ms, as ttft:300,itl:50");
  return verb.add_option("--seed", w.seed, "Repeats a load; default: a fresh one");
}

}  // namespace

void add_bench(CLI::App& app, Verb& chosen) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* verb = app.add_subcommand("bench", "Measure OpenAI-compatible servers under load");
  add_load_flags(*verb, *flags);
  const CLI::Option* seed = add_request_flags(*verb, *flags);
  verb->add_option("--json", flags->json_path, "Write the report there, for programs");
  verb->add_option("--html", flags->html_path, "Write the report there, as a page with plots");
  verb->add_flag("--quiet", flags->is_quiet, "Say nothing while it runs");
  verb->callback([flags, seed, &chosen] {
    flags->has_seed = seed->count() > 0;
    chosen = [flags] { return run_bench(*flags); };
  });
}

}  // namespace kantha::cli
