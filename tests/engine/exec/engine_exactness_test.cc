#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "base/log.h"
#include "engine/exec/engine_loop.h"
#include "engine/exec/forward_factory.h"
#include "tests/engine/exec/forward_cpu_tiny_model.h"
#include "tests/engine/exec/random_rules.h"
#include "tests/fake/event_recorder.h"

/// The whole engine on the real CPU forward: a request's tokens and log-probabilities are, bit for
/// bit, those that it gets alone on one thread, whatever the batch, chunks, cache hits, forks,
/// preemptions and threads.
namespace kantha::exec {
namespace {

using Random = std::mt19937_64;

constexpr model::LlamaConfig kConfig{.layers = 2,
                                     .width = 64,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .head_size = 16,
                                     .ffn_width = 96,
                                     .vocabulary = 300,
                                     .context = 256,
                                     .rope_dims = 16};
constexpr TokenId kEnd = 7;

std::int32_t between(Random& random, std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(random);
}

std::vector<TokenId> random_prompt(Random& random, std::int32_t count) {
  std::vector<TokenId> tokens;
  for (std::int32_t i = 0; i < count; ++i) tokens.push_back(between(random, 0, 299));
  return tokens;
}

/// An engine loop on a CPU forward, driven by the test.
class RealLoop {
 public:
  RealLoop(const TinyModel& tiny, const EngineOptions& options, std::int32_t threads)
      : inbox_(limits_of(options, kConfig.vocabulary)),
        loop_(make_forward_cpu(tiny.model(),
                               {.kv = options.kv,
                                .rows_max = options.step_tokens_max,
                                .logit_rows_max = options.sequences_max + options.score_rows_max,
                                .threads = threads})
                  .value(),
              options, system_clock(), inbox_) {
    set_log_level(LogLevel::kError);
  }

  void submit(const sched::GenerateSpec& spec) {
    const Status queued = inbox_.submit(spec, recorder_);
    ASSERT_TRUE(queued.ok()) << queued.error().to_string();
  }
  void turn() { loop_.turn(Duration::zero()); }
  bool drain() {
    turn();
    for (int turns = 0; !loop_.idle() && turns < 100'000; ++turns) turn();
    return loop_.idle();
  }
  fake::Received of(std::uint64_t id) const { return recorder_->of({id}); }
  const sched::SchedulerCounters& counters() const { return loop_.scheduler().counters(); }

 private:
  std::shared_ptr<fake::EventRecorder> recorder_ = std::make_shared<fake::EventRecorder>();
  gateway::Inbox inbox_;
  EngineLoop loop_;
};

EngineOptions plain_options() {
  EngineOptions options;
  options.kv = {.block_size = 16, .block_count = 16};
  options.context_max = 160;
  options.sequences_max = 1;
  options.step_tokens_max = 160;
  options.score_rows_max = 160;
  options.prefix_caching = false;
  options.prompt_tokens_queued_max = 1 << 20;
  options.end_tokens = {kEnd};
  return options;
}

EngineOptions random_options(Random& random) {
  EngineOptions options = plain_options();
  const std::int32_t block_size = between(random, 1, 20);
  // The longest request has 40 + 30 + 40 tokens; from barely that to plenty.
  const std::int32_t least = (110 + block_size - 1) / block_size + 1;
  const std::int32_t most = between(random, 0, 1) == 0 ? least + 2 : least * 3;
  options.kv = {.block_size = block_size, .block_count = between(random, least, most)};
  options.sequences_max = between(random, 2, 10);
  options.step_tokens_max = between(random, 1, 80);
  options.score_rows_max = between(random, 1, 30);
  options.prefix_caching = between(random, 0, 3) > 0;
  options.foresight = between(random, 0, 3) == 0;  // without it many are preempted
  return options;
}

sched::GenerateSpec random_spec(Random& random, std::uint64_t id,
                                const std::vector<std::vector<TokenId>>& heads) {
  sched::GenerateSpec spec;
  spec.id = {id};
  if (between(random, 0, 2) > 0) spec.prompt = heads[random() % heads.size()];
  for (const TokenId token : random_prompt(random, between(random, 1, 30))) {
    spec.prompt.push_back(token);
  }
  spec.max_tokens = between(random, 1, 40);
  spec.min_tokens = between(random, 0, 2) == 0 ? spec.max_tokens / 2 : 0;
  spec.ignore_eos = between(random, 0, 1) == 0;
  spec.sampling.temperature = between(random, 0, 1) == 0 ? 0.0F : 0.9F;
  spec.sampling.top_p = between(random, 0, 1) == 0 ? 1.0F : 0.8F;
  spec.sampling.top_k = between(random, 0, 3) == 0 ? 20 : 0;
  spec.sampling.typical_p = between(random, 0, 4) == 0 ? 0.7F : 1.0F;
  spec.sampling.seed = random();
  spec.rules = random_rules(random, kConfig.vocabulary);
  spec.sampling.logprobs = between(random, 0, 2) == 0 ? -1 : 2;
  if (between(random, 0, 5) == 0) spec.prompt_logprobs = between(random, 0, 3);
  return spec;
}

/// Tokens and the bits of log-probabilities.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> logprobs;
  std::optional<sched::FinishReason> finish;
  bool operator==(const Answer&) const = default;
};

Answer answer_of(const fake::Received& received) {
  Answer answer{.tokens = received.tokens, .logprobs = {}, .finish = received.finish};
  for (const sched::TokenEvent& event : received.events) {
    if (event.prompt_scores != nullptr) {
      const sched::PromptScores& scores = *event.prompt_scores;
      for (std::size_t i = 0; i < scores.logprobs.size(); ++i) {
        answer.logprobs.push_back(std::bit_cast<std::uint32_t>(scores.logprobs[i]));
        answer.logprobs.push_back(static_cast<std::uint32_t>(scores.ranks[i]));
      }
      for (const sched::TokenLogprob& best : scores.best) {
        answer.logprobs.push_back(static_cast<std::uint32_t>(best.token));
        answer.logprobs.push_back(std::bit_cast<std::uint32_t>(best.logprob));
      }
    }
    answer.logprobs.push_back(std::bit_cast<std::uint32_t>(event.logprob));
    for (const sched::TokenLogprob& other : event.top_logprobs) {
      answer.logprobs.push_back(static_cast<std::uint32_t>(other.token));
      answer.logprobs.push_back(std::bit_cast<std::uint32_t>(other.logprob));
    }
  }
  return answer;
}

struct Totals {
  std::int64_t preemptions = 0;
  std::int64_t forks = 0;
  std::int64_t hits = 0;
};

class EngineExactness : public testing::TestWithParam<ops::DType> {
 protected:
  void run_workload(std::uint64_t seed, Totals& totals) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto threads = static_cast<std::int32_t>(1 + seed % 3);
    RealLoop together(tiny_, random_options(random), threads);
    std::vector<std::vector<TokenId>> heads;
    for (int i = 0; i < 2; ++i) heads.push_back(random_prompt(random, between(random, 1, 40)));
    std::map<std::uint64_t, sched::GenerateSpec> specs;
    const int count = between(random, 2, 10);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t first = specs.size() + 1;
      specs[first] = random_spec(random, first, heads);
      together.submit(specs[first]);
      // Now and then some more samples of the same prompt.
      for (int more = between(random, 0, 3) == 0 ? between(random, 1, 3) : 0; more > 0; --more) {
        sched::GenerateSpec sample = specs[first];
        sample.id = {specs.size() + 1};
        sample.fork_of = RequestId{first};
        sample.sampling.seed += sample.id.value;
        sample.prompt_logprobs = -1;
        specs[sample.id.value] = sample;
        together.submit(sample);
      }
      for (int turns = between(random, 0, 4); turns > 0; --turns) together.turn();
    }
    ASSERT_TRUE(together.drain());
    for (const auto& [id, spec] : specs) {
      sched::GenerateSpec lone = spec;
      lone.id = {++last_lone_id_};
      lone.fork_of = {};
      alone_.submit(lone);
      ASSERT_TRUE(alone_.drain());
      ASSERT_EQ(answer_of(together.of(id)), answer_of(alone_.of(last_lone_id_)))
          << "request " << id;
    }
    totals.preemptions += together.counters().preemptions;
    totals.forks += together.counters().forks;
    totals.hits += together.counters().prefix_hits;
  }

  TinyModel tiny_{kConfig, TinyTypes::all(GetParam())};
  RealLoop alone_{tiny_, plain_options(), /*threads=*/1};
  std::uint64_t last_lone_id_ = 0;
};

TEST_P(EngineExactness, SameRequestSameBitsWhateverRunsBesideIt) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    run_workload(seed, totals);
    if (HasFatalFailure()) return;
  }
  // The workloads do exercise what they are about.
  EXPECT_GT(totals.preemptions, 20);
  EXPECT_GT(totals.forks, 50);
  EXPECT_GT(totals.hits, 500);
}

INSTANTIATE_TEST_SUITE_P(, EngineExactness,
                         testing::Values(ops::DType::kF32, ops::DType::kQ4_1, ops::DType::kQ8_0),
                         [](const auto& info) { return std::string(ops::dtype_name(info.param)); });

}  // namespace
}  // namespace kantha::exec
