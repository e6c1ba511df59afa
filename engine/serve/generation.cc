#include "engine/serve/generation.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/rng.h"
#include "engine/api/answer_writer.h"
#include "engine/api/openai_error.h"
#include "engine/serve/answers.h"
#include "engine/serve/choice_output.h"
#include "engine/serve/live_request.h"
#include "engine/serve/prompt_echo.h"

namespace kantha::serve {
namespace {

using sched::FinishReason;

constexpr std::size_t kUndeliveredMax = 4096;
/// Log-probabilities that become JSON within a few milliseconds.
constexpr std::size_t kQuickScores = 4096;

/// One choice with its clocks.
struct RunningChoice {
  RequestId id;
  ChoiceOutput output;
  std::int64_t prompt_tokens = 0;
  std::int64_t made_tokens = 0;
  TimePoint first_scheduled{};
  TimePoint first_token{};
  TimePoint last_token{};
  api::Choice whole = {};  ///< what a request that is not streamed has so far
  std::shared_ptr<const sched::PromptScores> prompt_scores = {};
  double logprob_sum = 0;  ///< of made tokens, for ranking
  bool echoed = false;     ///< the stream has the prompt
  bool accepted = false;   ///< by the engine
  bool ended = false;
};

/// Joins stretches of calls to those before.
void add_calls(std::vector<dialect::CallDelta>& more, std::vector<dialect::CallDelta>& calls) {
  dialect::Parsed joined{.calls = std::move(calls)};
  joined.append({.calls = std::move(more)});
  calls = std::move(joined.calls);
}

double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

/// One client's generation from submit to the last byte. Lives in run_generation's frame.
class Generation {
 public:
  Generation(ServeState& state, GenerationJob job, net::ResponseWriter& writer);
  ~Generation();

  Status submit();
  net::Task<void> answer();

 private:
  void add_choice(std::size_t index, const sched::GenerateSpec& spec);
  net::Task<void> pump();
  net::Task<void> write(std::string bytes);
  net::Task<void> end_stream();
  net::Task<void> end_whole();

  std::string absorb(const std::vector<TimedEvent>& events);
  void absorb_event(const sched::TokenEvent& event, TimePoint at, std::string& bytes);
  void show(RunningChoice& choice, api::Delta delta, std::string& bytes);
  void echo(const RunningChoice& choice, const sched::PromptScores* scores, api::Delta& delta);
  std::vector<api::Choice> whole_choices();
  std::size_t score_count() const;
  std::vector<std::size_t> best_samples(std::size_t prompt) const;
  void end_choice(RunningChoice& choice, TimePoint at, std::string& bytes);
  void fail(FinishReason reason, const ChoiceOutput& output);
  const char* finish_words(const ChoiceOutput& output) const;
  void measure_token(RunningChoice& choice, TimePoint at);
  void put_in_due(RunningChoice& choice, sched::GenerateSpec& spec, std::string& bytes);
  Status go_on(RunningChoice& choice, std::string& bytes);
  ChoiceEnd end_of(const RunningChoice& choice, FinishReason reason, TimePoint at) const;
  std::string opening(std::int32_t index);
  api::Usage usage() const;
  api::AnswerTimes times() const;
  bool streams() const { return job_.fields.stream; }
  /// The error that the client should see when the generation was stopped or failed.
  Error failure() const;

  ServeState& state_;
  GenerationJob job_;
  net::ResponseWriter& writer_;
  std::shared_ptr<LiveRequest> live_;
  std::unique_ptr<api::AnswerWriter> out_;
  std::vector<RunningChoice> choices_;
  std::size_t open_ = 0;
  std::string early_;  // chunks of choices that had ended before they began
  bool failed_ = false;
  Error error_;
  std::vector<bool> opened_;
};

api::ReplyHead make_head(const GenerationJob& job, const Clock& clock) {
  const auto since_epoch = clock.wall_now().time_since_epoch();
  api::ReplyHead head;
  head.api = job.api;
  head.id = api::reply_id(job.api, entropy_seed(), entropy_seed());
  head.created = std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
  head.model = job.model->name;
  head.fingerprint = job.model->fingerprint;
  return head;
}

/// Characters that the client of a resumed request already has.
std::int64_t resumed_characters(const GenerationJob& job) {
  const ChoiceOutput probe(job.model->tokenizer, job.model->dialect.marks,
                           {.stop = job.fields.stop, .min_tokens = job.fields.min_tokens},
                           job.fields.vendor.resumed_token_ids);
  return probe.resumed_characters();
}

std::int64_t prompt_tokens_of(const GenerationJob& job) {
  std::size_t tokens = 0;
  for (const std::vector<TokenId>& prompt : job.prompts) tokens += prompt.size();
  return static_cast<std::int64_t>(tokens);
}

api::StreamWriterOptions writer_options(const GenerationJob& job) {
  return {.logprobs = job.fields.logprobs >= 0,
          .token_ids = job.fields.vendor.return_token_ids,
          .include_usage = job.fields.include_usage,
          .text_offset = resumed_characters(job),
          .seed = job.fields.seed.value_or(0),
          .prompt_tokens = prompt_tokens_of(job)};
}

Generation::Generation(ServeState& state, GenerationJob job, net::ResponseWriter& writer)
    : state_(state),
      job_(std::move(job)),
      writer_(writer),
      live_(std::make_shared<LiveRequest>(state.events, *job_.model->engine,
                                          kUndeliveredMax * job_.choice_count())),
      out_(job_.answers->make_writer({.head = make_head(job_, state.clock),
                                      .options = writer_options(job_),
                                      .told = job_.told})),
      opened_(job_.choice_count(), !job_.fields.vendor.resumed_token_ids.empty()) {
  choices_.reserve(job_.choice_count());
  state_.live.insert(live_.get());
}

Generation::~Generation() {
  live_->close();
  state_.live.erase(live_.get());
  for (const RunningChoice& choice : choices_) {
    if (!choice.accepted || choice.ended) continue;
    state_.metrics.observe_end(end_of(choice, FinishReason::kAbort, state_.clock.now()));
  }
}

void Generation::add_choice(std::size_t index, const sched::GenerateSpec& spec) {
  ChoiceOptions options{.index = static_cast<std::int32_t>(index),
                        .stop = job_.fields.stop,
                        .include_stop = job_.fields.include_stop,
                        .scores = job_.fields.logprobs >= 0,
                        .min_tokens = spec.min_tokens,
                        .form = job_.form};
  if (options.form.parser) options.form.parser->id_seed = call_seed(spec);
  choices_.push_back({.id = spec.id,
                      .output = {job_.model->tokenizer, job_.model->dialect.marks,
                                 std::move(options), spec.resumed},
                      .prompt_tokens = static_cast<std::int64_t>(spec.prompt.size())});
  choices_.back().whole.answer.index = static_cast<std::int32_t>(index);
}

/// All choices or none: a refusal of one aborts those that were taken before it.
Status Generation::submit() {
  const gateway::EngineLimits limits = job_.model->engine->limits();
  TRY_OK(check_streamed_scores(job_));
  const std::shared_ptr<const sched::LogitRules> rules = rules_of(job_);
  std::vector<sched::GenerateSpec> specs;
  for (std::size_t i = 0; i < job_.choice_count(); ++i) {
    TRY(sched::GenerateSpec spec, make_spec(job_, i, limits));
    spec.rules = rules;
    specs.push_back(std::move(spec));
  }
  const std::int32_t max_tokens = specs.front().max_tokens;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    sched::GenerateSpec& spec = specs[i];
    spec.id = state_.next_request_id();
    if (job_.sample_of(i) > 0) spec.fork_of = choices_[i - job_.sample_of(i)].id;
    add_choice(i, spec);
    RunningChoice& choice = choices_.back();
    put_in_due(choice, spec, early_);
    const auto ended = ended_before(spec, job_.model->tokenizer.end_tokens());
    if (choice.output.finish() || ended) {
      if (ended) choice.output.end(*ended);
      end_choice(choice, state_.clock.now(), early_);
      continue;
    }
    const RequestId id = spec.id;
    TRY_OK(job_.model->engine->submit(std::move(spec), live_));
    live_->add_id(id);
    choice.accepted = true;
    ++open_;
    ++state_.requests_total;
  }
  state_.metrics.observe_request(job_.fields.n, max_tokens);
  return ok_status();
}

net::Task<void> Generation::answer() {
  // Shared, because the server may call these after this object is gone.
  const std::weak_ptr<LiveRequest> live = live_;
  writer_.on_client_gone([live] {
    if (const auto request = live.lock()) request->stop(StopCause::kClientGone);
  });
  live_->on_slow_reader([this] { writer_.abort(); });
  if (state_.drain_expired) live_->stop(StopCause::kDrainExpired);
  if (streams()) {
    net::Headers headers{{"Content-Type", std::string(out_->stream_type())},
                         {"Cache-Control", "no-cache"},
                         {"X-Accel-Buffering", "no"}};
    const Status started = co_await writer_.start(200, std::move(headers));
    if (!started.ok()) live_->stop(StopCause::kClientGone);
    if (!early_.empty()) co_await write(std::move(early_));
  }
  co_await pump();
  if (streams()) {
    co_await end_stream();
  } else {
    co_await end_whole();
  }
}

/// Moves events to the client until every choice has ended or the request was stopped.
net::Task<void> Generation::pump() {
  const auto silence = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(state_.config.keepalive_s));
  std::vector<TimedEvent> events;
  while (open_ > 0 && !failed_ && live_->stop_cause() == StopCause::kNone) {
    live_->take(events);
    if (!events.empty()) {
      std::string bytes = absorb(events);
      if (!bytes.empty()) co_await write(std::move(bytes));
      continue;
    }
    const bool woken = co_await live_->wait(silence);
    if (woken) continue;
    if (state_.phase.stalled()) {
      failed_ = true;
      error_ = unavailable("the engine makes no progress");
    } else if (streams()) {
      std::string sign = out_->keep_alive();
      if (!sign.empty()) co_await write(std::move(sign));
    }
  }
}

net::Task<void> Generation::write(std::string bytes) {
  const Status written = co_await writer_.write(std::move(bytes));
  if (written.ok()) co_return;
  const bool slow = written.error().code == Code::kDeadlineExceeded;
  live_->stop(slow ? StopCause::kSlowReader : StopCause::kClientGone);
}

std::string Generation::absorb(const std::vector<TimedEvent>& events) {
  std::string bytes;
  for (const TimedEvent& timed : events) absorb_event(timed.event, timed.at, bytes);
  return bytes;
}

void Generation::absorb_event(const sched::TokenEvent& event, TimePoint at, std::string& bytes) {
  const auto found = std::ranges::find(choices_, event.id, &RunningChoice::id);
  if (found == choices_.end() || found->ended) return;
  RunningChoice& choice = *found;
  choice.first_scheduled = event.first_scheduled;
  if (event.prompt_scores) choice.prompt_scores = event.prompt_scores;
  if (event.pooled_states) choice.whole.pooled_states = event.pooled_states;
  if (event.token) {
    measure_token(choice, at);
    choice.logprob_sum += double{event.logprob};
  }
  auto delta = choice.output.push(event);
  if (delta) show(choice, *std::move(delta), bytes);
  if (!choice.output.due().empty()) {
    Status going = go_on(choice, bytes);
    if (!going.ok()) {
      failed_ = true;
      error_ = std::move(going).error();
      return;
    }
  }
  if (!choice.output.finish()) return;
  --open_;
  if (choice.output.stopped_here()) job_.model->engine->abort(choice.id);
  live_->remove_id(choice.id);
  end_choice(choice, at, bytes);
}

/// Tokens that are due become output as if the model had chosen them: the end of reasoning, and
/// after it the beginning of a call. They are not measured, since nobody waits for them.
void Generation::put_in_due(RunningChoice& choice, sched::GenerateSpec& spec, std::string& bytes) {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    const auto span = choice.output.due();
    const std::vector<TokenId> due(span.begin(), span.end());
    if (due.empty()) return;
    spec.fork_of.reset();  // only samples with the same output so far share it
    spec.resumed = choice.output.tokens();
    for (const TokenId id : due) {
      if (choice.output.finish()) return;
      sched::TokenEvent event;
      event.id = choice.id;
      event.token = id;
      event.output_tokens = static_cast<std::int32_t>(spec.resumed.size()) + 1;
      event.cached_tokens = choice.output.cached_tokens();
      if (event.output_tokens == spec.max_tokens) event.finish = FinishReason::kLength;
      spec.resumed.push_back(id);
      auto delta = choice.output.push(event);
      if (delta) show(choice, *std::move(delta), bytes);
    }
  }
}

/// The engine goes on after tokens that it did not choose: as a new request that resumes.
Status Generation::go_on(RunningChoice& choice, std::string& bytes) {
  const auto index = static_cast<std::size_t>(&choice - choices_.data());
  job_.model->engine->abort(choice.id);
  live_->remove_id(choice.id);
  TRY(sched::GenerateSpec spec, make_spec(job_, index, job_.model->engine->limits()));
  spec.rules = rules_of(job_);
  spec.id = state_.next_request_id();
  choice.id = spec.id;
  put_in_due(choice, spec, bytes);
  if (choice.output.finish()) return ok_status();
  TRY_OK(job_.model->engine->submit(std::move(spec), live_));
  live_->add_id(choice.id);
  return ok_status();
}

void Generation::measure_token(RunningChoice& choice, TimePoint at) {
  if (choice.made_tokens++ == 0) {
    choice.first_token = at;
    state_.metrics.observe_first_token(seconds_between(job_.arrived, at), at);
  } else {
    state_.metrics.observe_inter_token(seconds_between(choice.last_token, at), at);
  }
  choice.last_token = at;
}

ChoiceEnd Generation::end_of(const RunningChoice& choice, FinishReason reason, TimePoint at) const {
  return {.reason = reason,
          .times = {.arrived = job_.arrived,
                    .first_scheduled = choice.first_scheduled,
                    .first_token = choice.first_token,
                    .last_token = choice.last_token,
                    .ended = at},
          .prompt_tokens = choice.prompt_tokens,
          .cached_tokens = choice.output.cached_tokens(),
          .output_tokens = choice.output.output_tokens(),
          .made_tokens = choice.made_tokens};
}

/// What opens a choice (a chat's role chunk) comes with the first token, so that clients which time
/// the first chunk time a token.
std::string Generation::opening(std::int32_t index) {
  const auto place = static_cast<std::size_t>(index);
  if (opened_[place]) return {};
  opened_[place] = true;
  return out_->opening(index, usage());
}

void Generation::show(RunningChoice& choice, api::Delta delta, std::string& bytes) {
  if (streams()) {
    if (job_.echoes() && !std::exchange(choice.echoed, true)) {
      echo(choice, choice.prompt_scores.get(), delta);
    }
    bytes += opening(delta.index);
    bytes += out_->delta(delta);
    return;
  }
  api::Delta& whole = choice.whole.answer;
  whole.text += delta.text;
  whole.reasoning += delta.reasoning;
  add_calls(delta.calls, whole.calls);
  std::ranges::move(delta.scores, std::back_inserter(whole.scores));
  std::ranges::copy(delta.token_ids, std::back_inserter(whole.token_ids));
}

/// Puts the prompt before the first delta of a choice, so that a resuming front door, which counts
/// output tokens, has both or neither.
void Generation::echo(const RunningChoice& choice, const sched::PromptScores* scores,
                      api::Delta& delta) {
  const std::size_t prompt = job_.prompt_of(static_cast<std::size_t>(&choice - choices_.data()));
  const text::Tokenizer& tokenizer = job_.model->tokenizer;
  const std::string& text = job_.prompt_texts[prompt];
  delta.text.insert(0, text);
  if (job_.fields.logprobs < 0 || scores == nullptr) return;
  std::vector<api::ScoredToken> tokens =
      prompt_tokens(tokenizer, job_.prompts[prompt], *scores, job_.fields.logprobs);
  std::ranges::move(delta.scores, std::back_inserter(tokens));
  delta.scores = std::move(tokens);
  out_->begin_text(delta.index, prompt_offset(tokenizer, job_.prompts[prompt], text));
}

void Generation::end_choice(RunningChoice& choice, TimePoint at, std::string& bytes) {
  const FinishReason reason = *choice.output.finish();
  choice.ended = true;
  state_.metrics.observe_end(end_of(choice, reason, at));
  if (reason != FinishReason::kStop && reason != FinishReason::kLength) {
    fail(reason, choice.output);
    return;
  }
  const char* words = finish_words(choice.output);
  choice.whole.finish_reason = words;
  choice.whole.stop_string = choice.output.stop_string();
  std::ranges::copy(choice.output.rest(), std::back_inserter(choice.whole.answer.token_ids));
  if (!streams()) return;
  if (job_.echoes() && !choice.echoed) show(choice, {.index = choice.output.index()}, bytes);
  bytes += opening(choice.output.index());
  bytes += out_->finish({.index = choice.output.index(),
                         .reason = words,
                         .stop_string = choice.whole.stop_string,
                         .rest = choice.output.rest()});
}

/// An answer that was cut says so, whatever it holds; a call that had to be of one function is no
/// decision of the model's, which OpenAI tells as "stop".
const char* Generation::finish_words(const ChoiceOutput& output) const {
  if (*output.finish() == FinishReason::kLength) return "length";
  return output.calls() > 0 && !job_.form.names_call ? "tool_calls" : "stop";
}

void Generation::fail(FinishReason reason, const ChoiceOutput& output) {
  const std::string& words = output.error();
  failed_ = true;
  if (output.forbidden()) {
    error_ = invalid_argument(words);
    return;
  }
  switch (reason) {
    case FinishReason::kDeadline: error_ = deadline_passed(job_.fields); return;
    case FinishReason::kAbort: error_ = unavailable("the engine is stopping"); return;
    default: error_ = internal_error(words.empty() ? "the generation failed" : words);
  }
}

/// A prompt counts once, however many samples it has, as OpenAI counts.
api::Usage Generation::usage() const {
  api::Usage usage;
  if (job_.form.parser && !job_.form.parser->reasoning.empty()) usage.reasoning_tokens = 0;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const RunningChoice& choice = choices_[i];
    usage.completion_tokens += choice.output.output_tokens();
    if (usage.reasoning_tokens) *usage.reasoning_tokens += choice.output.reasoning_tokens();
    if (job_.sample_of(i) > 0) continue;
    usage.prompt_tokens += choice.prompt_tokens;
    usage.cached_tokens += choice.output.cached_tokens();
  }
  return usage;
}

/// Of the first choice; a time that never came is no time.
api::AnswerTimes Generation::times() const {
  const RunningChoice& choice = choices_.front();
  const auto ns = [](TimePoint from, TimePoint to) -> std::int64_t {
    if (from == TimePoint{} || to <= from) return 0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
  };
  return {.total_ns = ns(job_.arrived, state_.clock.now()),
          .prompt_ns = ns(choice.first_scheduled, choice.first_token),
          .output_ns = ns(choice.first_token, choice.last_token)};
}

Error Generation::failure() const {
  if (live_->stop_cause() == StopCause::kDrainExpired) {
    Error error = unavailable("this server is shutting down: send the request again");
    error.reason = api::kReasonDraining;
    return error;
  }
  return error_;
}

net::Task<void> Generation::end_stream() {
  const StopCause cause = live_->stop_cause();
  if (cause == StopCause::kClientGone || cause == StopCause::kSlowReader) {
    writer_.abort();
    co_return;
  }
  std::string bytes;
  if (failed_ || cause == StopCause::kDrainExpired) {
    const Error error = failure();
    log_warn("stream failed", {{"error", error.message}});
    bytes = out_->failure(api::in_own_words(error, job_.answers->names));
  } else {
    bytes = out_->end(usage(), times());
  }
  co_await write(std::move(bytes));
  const Status finished = co_await writer_.finish();
  if (!finished.ok()) log_debug("client left at the end", {{"error", finished.error().message}});
}

net::Task<void> Generation::end_whole() {
  const StopCause cause = live_->stop_cause();
  if (cause == StopCause::kClientGone || cause == StopCause::kSlowReader) {
    writer_.abort();
    co_return;
  }
  if (failed_ || cause == StopCause::kDrainExpired) {
    Error error = failure();
    log_warn("request failed", {{"error", error.message}});
    co_await send_error(writer_, std::move(error), job_.answers);
    co_return;
  }
  std::string body;
  std::function<void()> work = [this, &body] {
    body = out_->whole(whole_choices(), usage(), times());
  };
  if (score_count() <= kQuickScores) {
    work();
  } else {
    co_await state_.bulk_worker.run(std::move(work));
  }
  co_await send_json(writer_, 200, std::move(body));
}

/// Log-probabilities that the whole answer holds, about.
std::size_t Generation::score_count() const {
  const auto each = [](std::int32_t top) { return static_cast<std::size_t>(top + 1); };
  std::size_t count = 0;
  for (const RunningChoice& choice : choices_) {
    count += choice.whole.answer.scores.size() * each(job_.fields.logprobs);
    if (choice.prompt_scores == nullptr) continue;
    const std::size_t wanted =
        each(job_.fields.prompt_logprobs) + (job_.fields.echo ? each(job_.fields.logprobs) : 0);
    count += choice.prompt_scores->logprobs.size() * wanted;
  }
  return count;
}

/// A prompt's samples that the client gets: all of them, or those whose tokens are the most likely
/// on average, best first; of equals the first.
std::vector<std::size_t> Generation::best_samples(std::size_t prompt) const {
  std::vector<std::size_t> order(job_.samples());
  std::iota(order.begin(), order.end(), prompt * job_.samples());
  if (!job_.ranks()) return order;
  std::ranges::sort(order, {}, [this](std::size_t i) {
    const RunningChoice& choice = choices_[i];
    const auto tokens = static_cast<double>(std::max<std::int64_t>(choice.made_tokens, 1));
    return std::pair(-choice.logprob_sum / tokens, i);
  });
  order.resize(static_cast<std::size_t>(job_.fields.n));
  return order;
}

std::vector<api::Choice> Generation::whole_choices() {
  std::vector<api::Choice> whole;
  for (std::size_t prompt = 0; prompt < job_.prompts.size(); ++prompt) {
    // Only a prompt's first sample has asked for them.
    const sched::PromptScores* scores = choices_[prompt * job_.samples()].prompt_scores.get();
    bool first = true;
    for (const std::size_t i : best_samples(prompt)) {
      api::Choice& choice = choices_[i].whole;
      choice.answer.index = static_cast<std::int32_t>(whole.size());
      if (job_.echoes()) echo(choices_[i], scores, choice.answer);
      const bool told = job_.api == api::ApiKind::kCompletion || std::exchange(first, false);
      if (job_.fields.prompt_logprobs >= 0 && scores != nullptr && told) {
        choice.prompt_logprobs = prompt_places(job_.model->tokenizer, job_.prompts[prompt], *scores,
                                               job_.fields.prompt_logprobs);
      }
      whole.push_back(std::move(choice));
    }
  }
  return whole;
}

}  // namespace

net::Task<void> run_generation(ServeState* state, GenerationJob job, net::ResponseWriter& writer) {
  const api::AnswerApi* const answers = job.answers;
  Generation generation(*state, std::move(job), writer);
  Status submitted = generation.submit();
  if (!submitted.ok()) {
    Error error = std::move(submitted).error();
    co_await refuse_generation(state, answers, std::move(error), writer);
    co_return;
  }
  co_await generation.answer();
}

net::Task<void> refuse_generation(ServeState* state, const api::AnswerApi* api, Error error,
                                  net::ResponseWriter& writer) {
  EngineMetrics& metrics = state->metrics;
  switch (error.code) {
    case Code::kCancelled:
      metrics.count_end(FinishReason::kAbort);
      writer.abort();
      co_return;
    case Code::kDeadlineExceeded: metrics.count_end(FinishReason::kDeadline); break;
    case Code::kResourceExhausted: metrics.count_refusal(/*queue_full=*/true); break;
    case Code::kUnavailable: metrics.count_refusal(/*queue_full=*/false); break;
    default: break;
  }
  co_await send_error(writer, std::move(error), api);
}

}  // namespace kantha::serve
