#include "bench/load/server_probe.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "bench/load/answer_event.h"
#include "bench/load/request_body.h"

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAskWithin = 10s;
constexpr Duration kScrapeWithin = 2s;
constexpr int kWordsFew = 24;
constexpr int kWordsMany = 120;
/// Texts of the calibration are no request of the load.
constexpr std::uint64_t kProbeIndex = ~0ULL;

struct ListedModel {
  std::string id;
  int window = 0;
};

std::optional<ListedModel> listed_model(const std::string& body, const std::string& wanted) {
  const Result<Json> json = parse_json(body);
  const Json::json_pointer list("/data");
  if (!json.ok() || !json->is_object() || !json->contains(list)) return std::nullopt;
  for (const Json& model : json->at(list)) {
    if (!model.is_object()) continue;
    const auto id = model.find("id");
    if (id == model.end() || !id->is_string()) continue;
    if (!wanted.empty() && *id != wanted) continue;
    ListedModel out{id->get<std::string>()};
    const auto window = model.find("max_model_len");
    if (window != model.end() && window->is_number_unsigned()) {
      out.window = static_cast<int>(std::min<std::uint64_t>(window->get<std::uint64_t>(), 1 << 30));
    }
    return out;
  }
  return std::nullopt;
}

net::Task<Result<ListedModel>> choose_model(std::shared_ptr<net::HttpClient> client,
                                            ServerDoor door, std::string wanted) {
  net::HttpRequest request = request_to(door, "GET", "/v1/models");
  const Duration patience = std::min(kAskWithin, door.timeout);
  const Result<net::HttpResponse> answer =
      co_await client->call(door.endpoint, std::move(request), patience);
  if (!answer.ok()) co_return answer.error();
  const auto model = answer->status == 200 ? listed_model(answer->body, wanted) : std::nullopt;
  if (model) co_return *model;
  if (!wanted.empty()) co_return ListedModel{wanted};
  co_return not_found("GET /v1/models names no model (HTTP " + std::to_string(answer->status) +
                      ": " + error_line(answer->body) + "); name one with --model");
}

std::optional<double> tokens_in(const net::HttpResponse& answer) {
  const Result<Json> json = parse_json(answer.body);
  if (answer.status != 200 || !json.ok() || !json->is_object()) return std::nullopt;
  const auto count = json->find("count");
  if (count != json->end() && count->is_number_unsigned()) return count->get<double>();
  const auto tokens = json->find("tokens");
  if (tokens == json->end() || !tokens->is_array() || tokens->empty()) return std::nullopt;
  return static_cast<double>(tokens->size());
}

net::Task<std::optional<double>> tokenize(std::shared_ptr<net::HttpClient> client, ServerDoor door,
                                          std::string body) {
  net::HttpRequest request = request_to(door, "POST", "/tokenize");
  request.body = std::move(body);
  const Duration patience = std::min(kAskWithin, door.timeout);
  const Result<net::HttpResponse> answer =
      co_await client->call(door.endpoint, std::move(request), patience);
  if (!answer.ok()) co_return std::nullopt;
  co_return tokens_in(*answer);
}

/// vLLM's form has "prompt", llama.cpp's "content".
net::Task<std::optional<TokenRatio>> ratio_by_tokenize(std::shared_ptr<net::HttpClient> client,
                                                       ServerDoor door, std::string model,
                                                       std::uint64_t seed) {
  const std::string few = random_words(seed, kProbeIndex, kWordsFew);
  const std::string many = random_words(seed, kProbeIndex, kWordsMany);
  const std::string names[] = {"prompt", "content"};
  for (const std::string& name : names) {
    Json body = {{"model", model}};
    body[name] = few;
    std::string text = dump_json(body);
    const auto tokens_few = co_await tokenize(client, door, std::move(text));
    if (!tokens_few) continue;
    body[name] = many;
    text = dump_json(body);
    const auto tokens_many = co_await tokenize(client, door, std::move(text));
    if (tokens_many && *tokens_many > *tokens_few) {
      co_return ratio_of(kWordsFew, *tokens_few, kWordsMany, *tokens_many, "/tokenize");
    }
  }
  co_return std::nullopt;
}

/// Prompt tokens of a request with so many words, by the answer's own account.
net::Task<Result<double>> prompt_tokens(std::shared_ptr<net::HttpClient> client, ServerDoor door,
                                        BenchOptions options, std::string model, int words,
                                        std::shared_ptr<net::CancelSignal> cancel) {
  const std::string prompt = random_words(options.workload.seed, kProbeIndex, words);
  PreparedRequest request = prepare_request(options, model, prompt, 1);
  const TimePoint origin = system_clock().now();
  const RequestLog log = co_await exchange(std::move(client), std::move(door), std::move(request),
                                           origin, std::move(cancel));
  if (log.usage) co_return static_cast<double>(log.usage->prompt_tokens);
  if (log.ok()) co_return not_found("answers have no usage");
  co_return unavailable(log.error);
}

}  // namespace

TokenRatio ratio_of(int words_few, double tokens_few, int words_many, double tokens_many,
                    std::string source) {
  TokenRatio ratio;
  ratio.tokens_per_word = std::max(0.1, (tokens_many - tokens_few) / (words_many - words_few));
  ratio.tokens_beside = std::max(0.0, tokens_few - words_few * ratio.tokens_per_word);
  ratio.source = std::move(source);
  return ratio;
}

net::Task<Result<ServerFacts>> probe_server(std::shared_ptr<net::HttpClient> client,
                                            ServerDoor door, BenchOptions options,
                                            std::shared_ptr<net::CancelSignal> cancel) {
  CO_TRY(const ListedModel model, co_await choose_model(client, door, options.model));
  ServerFacts facts{.model = model.id, .window = model.window};
  const std::uint64_t seed = options.workload.seed;
  const auto by_tokenize = co_await ratio_by_tokenize(client, door, model.id, seed);
  const Result<double> few =
      co_await prompt_tokens(client, door, options, model.id, kWordsFew, cancel);
  if (by_tokenize) {
    facts.ratio = *by_tokenize;
    if (few.ok()) {
      facts.ratio.tokens_beside = std::max(0.0, *few - kWordsFew * facts.ratio.tokens_per_word);
    }
    co_return facts;
  }
  if (!few.ok()) {
    facts.trouble = few.error().message;
    co_return facts;
  }
  const Result<double> many =
      co_await prompt_tokens(client, door, options, model.id, kWordsMany, cancel);
  if (many.ok() && *many > *few) {
    facts.ratio = ratio_of(kWordsFew, *few, kWordsMany, *many, "usage");
  } else {
    facts.trouble =
        many.ok() ? "the server counts more words as no more tokens" : many.error().message;
  }
  co_return facts;
}

net::Task<MetricSums> scrape(std::shared_ptr<net::HttpClient> client, ServerDoor door) {
  net::HttpRequest request = request_to(door, "GET", "/metrics");
  const Result<net::HttpResponse> answer =
      co_await client->call(door.endpoint, std::move(request), kScrapeWithin);
  if (!answer.ok() || answer->status != 200) co_return MetricSums{};
  co_return read_metrics(answer->body);
}

}  // namespace kantha::bench
