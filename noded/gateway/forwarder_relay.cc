#include <algorithm>
#include <charconv>
#include <utility>

#include "noded/gateway/door_dialect.h"
#include "noded/gateway/door_error.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/json_outline.h"

namespace kantha::noded {
namespace {

/// An engine that worked so long before it gave up was not merely unready.
constexpr Duration kWorked = std::chrono::seconds(1);
/// Larger answers are no completions.
constexpr std::size_t kUsageBytesMax = 8u << 20;

/// It takes nothing on: it loads, drains, or stops. In other dialects an engine says 503 for
/// nothing else.
bool is_unready(const net::HttpResponse& response, DoorDialect dialect) {
  return response.status == 503 &&
         (dialect != DoorDialect::kOpenAi ||
          response.body.find("\"server_draining\"") != std::string::npos ||
          says_engine_ends(response.body));
}

std::optional<std::int64_t> count_in(std::string_view body, const JsonObjectOutline& usage,
                                     std::string_view name) {
  const JsonSpan* value = usage.find(name);
  if (value == nullptr) return std::nullopt;
  const std::string_view digits = value->in(body);
  std::int64_t count = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return read.ec == std::errc() && count >= 0 ? std::optional(count) : std::nullopt;
}

/// The first of the names that is there.
std::optional<std::int64_t> count_of(std::string_view body, const JsonObjectOutline& usage,
                                     std::string_view name, std::string_view other) {
  const auto count = count_in(body, usage, name);
  return count ? count : count_in(body, usage, other);
}

void read_usage(const net::HttpResponse& response, ForwardOutcome& outcome) {
  const std::string_view body = response.body;
  if (response.status != 200 || body.size() > kUsageBytesMax) return;
  const auto root = outline_object(body, {0, body.size()});
  if (!root) return;
  const JsonSpan* usage = root->find("usage");
  if (usage == nullptr) {  // Ollama has them beside its text
    outcome.prompt_tokens = count_of(body, *root, "prompt_eval_count", "tokens_evaluated");
    outcome.completion_tokens = count_of(body, *root, "eval_count", "tokens_predicted");
    return;
  }
  const auto counts = outline_object(body, *usage);
  if (!counts) return;
  outcome.prompt_tokens = count_of(body, *counts, "prompt_tokens", "input_tokens");
  outcome.completion_tokens = count_of(body, *counts, "completion_tokens", "output_tokens");
}

/// How the server ended that gave no more bytes.
TargetEnd end_of_read(const Result<std::string>& piece) {
  const bool is_silent = !piece.ok() && piece.error().code == Code::kDeadlineExceeded;
  return is_silent ? TargetEnd::kSilent : TargetEnd::kCut;
}

}  // namespace

net::Headers Forwarder::answer_headers(net::Headers headers) const {
  net::Headers kept = end_to_end(std::move(headers));
  kept.remove("x-kantha-load");  // a peer says it to us
  if (leaving()) kept.set("Connection", "close");
  return kept;
}

net::Task<Forwarder::Turn> Forwarder::relay_whole(Exchange exchange, ForwardTarget target,
                                                  Answer answer) {
  net::HttpResponse response;
  response.status = answer->status();
  response.headers = answer_headers(answer->headers());
  while (true) {
    Result<std::string> piece = co_await answer->read(policy_.silence_timeout);
    if (!piece.ok()) {
      const TargetEnd end = end_of_read(piece);
      co_return co_await lost(exchange, std::move(target), end);
    }
    if (piece->empty()) break;
    response.body += *piece;
    if (response.body.size() > policy_.answer_bytes_max) {
      close_try(*exchange, target, TargetEnd::kRecalled);
      co_await refuse(exchange, 502, "the engine's answer is too large");
      co_return Turn::kAnswered;
    }
  }
  co_return co_await judge_whole(exchange, std::move(target), std::move(response));
}

/// Whether an answer is for the client, or somebody else is to be asked.
net::Task<Forwarder::Turn> Forwarder::judge_whole(Exchange exchange, ForwardTarget target,
                                                  net::HttpResponse response) {
  const TimePoint now = clock_.now();
  const bool worked = now - exchange->sent >= kWorked;
  const bool may_wait = now < exchange->deadline || worked;
  // Nobody comes after an engine that drains with its pod.
  const bool is_last = draining_ && target.is_local && !exchange->has_begun();
  const bool is_full = response.status == 429 && exchange->has_begun();
  if (may_wait && !is_last &&
      (is_full || is_unready(response, dialect_of(exchange->request.path())))) {
    const TargetEnd end = worked ? TargetEnd::kGaveUp : TargetEnd::kRefused;
    exchange->was_ended = says_engine_was_ended(response.body);
    co_return co_await lost(exchange, std::move(target), end);
  }
  close_try(*exchange, target, TargetEnd::kAnswered);
  if (exchange->has_begun()) {
    co_await refuse(exchange, 502,
                    "the next engine refused to go on: " + response.body.substr(0, 300));
    co_return Turn::kAnswered;
  }
  read_usage(response, exchange->outcome);
  exchange->outcome.ended_by = EndedBy::kServer;
  co_await answer_whole(exchange, std::move(response));
  co_return Turn::kAnswered;
}

net::Task<Status> Forwarder::begin_stream(Exchange exchange, int status, net::Headers headers) {
  exchange->outcome.status = status;
  exchange->outcome.streamed = true;
  net::Headers kept = answer_headers(std::move(headers));
  co_return co_await exchange->writer.start(status, std::move(kept));
}

net::Task<Status> Forwarder::show(Exchange exchange, std::string bytes) {
  ForwardOutcome& outcome = exchange->outcome;
  outcome.bytes_sent += static_cast<std::int64_t>(bytes.size());
  exchange->last_sign = clock_.now();
  if (!outcome.first_byte && exchange->has_begun()) {
    outcome.first_byte = exchange->last_sign - exchange->arrived;
  }
  co_return co_await exchange->writer.write(std::move(bytes));
}

/// A stream without token ids: the next engine may answer it again (replayed_stream.h), or nobody.
net::Task<Forwarder::Turn> Forwarder::relay_stream(Exchange exchange, ForwardTarget target,
                                                   Answer answer) {
  Status sent = ok_status();
  if (exchange->has_begun()) {
    counts_.resumed += 1;
    exchange->outcome.resumes += 1;
  } else {
    exchange->shown = true;
    exchange->outcome.completion_tokens = 0;
    if (exchange->replay_seed) {
      exchange->replay.emplace(*replay_format_of(exchange->request.path()));
    }
    sent = co_await begin_stream(exchange, answer->status(), answer->headers());
  }
  while (sent.ok()) {
    Result<std::string> piece = co_await answer->read(policy_.silence_timeout);
    const bool is_over = !piece.ok() || piece->empty();
    const bool is_whole =
        exchange->replay && exchange->can_continue() ? exchange->replay->finished() : piece.ok();
    if (is_over && is_whole) co_return co_await finish_stream(exchange, std::move(target));
    if (is_over) {
      const TargetEnd end = end_of_read(piece);
      co_return co_await lost(exchange, std::move(target), end);
    }
    sent = co_await show_piece(exchange, *std::move(piece));
    if (!sent.ok() || !exchange->replay) continue;
    if (exchange->replay->engine_gave_up()) {
      exchange->was_ended = exchange->replay->engine_was_ended();
      co_return co_await lost(exchange, std::move(target), TargetEnd::kGaveUp);
    }
    if (exchange->replay->differs()) {
      close_try(*exchange, target, TargetEnd::kRecalled);
      co_await refuse(exchange, 502, "the next engine answers something else");
      co_return Turn::kAnswered;
    }
  }
  co_return co_await unwritten(exchange, std::move(target), std::move(sent));
}

net::Task<Status> Forwarder::show_piece(Exchange exchange, std::string piece) {
  std::string bytes = exchange->replay ? exchange->replay->feed(piece) : std::move(piece);
  if (bytes.empty()) co_return ok_status();
  const DoorDialect dialect = dialect_of(exchange->request.path());
  std::int64_t& events = *exchange->outcome.completion_tokens;
  events += count_stream_events(dialect, bytes, exchange->last_counted);
  exchange->last_byte = bytes.back();
  co_return co_await show(exchange, std::move(bytes));
}

/// A stream that the next engine can go on with. It has ended when the client has its last event:
/// an engine that closes properly before that has ended too early.
net::Task<Forwarder::Turn> Forwarder::relay_resumable(Exchange exchange, ForwardTarget target,
                                                      Answer answer) {
  StreamLedger& ledger = *exchange->ledger;
  Status sent = ok_status();
  if (exchange->has_begun()) {
    counts_.resumed += 1;
    exchange->outcome.resumes += 1;
  } else if (!exchange->writer.started()) {
    sent = co_await begin_stream(exchange, answer->status(), answer->headers());
  }
  while (sent.ok()) {
    Result<std::string> piece = co_await answer->read(policy_.silence_timeout);
    const bool is_over = !piece.ok() || piece->empty();
    if (is_over && (ledger.finished() || (piece.ok() && !ledger.can_continue()))) {
      co_return co_await finish_stream(exchange, std::move(target));
    }
    if (is_over) {
      const TargetEnd end = end_of_read(piece);
      co_return co_await lost(exchange, std::move(target), end);
    }
    std::string events = ledger.feed(*piece);
    if (!events.empty()) sent = co_await show(exchange, std::move(events));
    if (sent.ok() && ledger.engine_gave_up()) {
      exchange->was_ended = ledger.engine_was_ended();
      co_return co_await lost(exchange, std::move(target), TargetEnd::kGaveUp);
    }
  }
  co_return co_await unwritten(exchange, std::move(target), std::move(sent));
}

net::Task<Forwarder::Turn> Forwarder::finish_stream(Exchange exchange, ForwardTarget target) {
  close_try(*exchange, target, TargetEnd::kAnswered);
  exchange->outcome.ended_by = EndedBy::kServer;
  const Status sent = co_await exchange->writer.finish();
  if (!sent.ok()) note_unwritten(*exchange, sent);
  co_return Turn::kAnswered;
}

net::Task<Forwarder::Turn> Forwarder::unwritten(Exchange exchange, ForwardTarget target,
                                                Status sent) {
  note_unwritten(*exchange, sent);
  exchange->end_try();
  close_try(*exchange, target, TargetEnd::kRecalled);
  co_return Turn::kAnswered;
}

/// The client left, or it reads too slowly: then its connection is ended, so that nothing piles up.
void Forwarder::note_unwritten(ForwardExchange& exchange, const Status& sent) {
  const bool is_slow = sent.error().code == Code::kDeadlineExceeded;
  exchange.outcome.ended_by = is_slow ? EndedBy::kSlowClient : EndedBy::kClient;
  exchange.gone = true;
  exchange.writer.abort();
}

}  // namespace kantha::noded
