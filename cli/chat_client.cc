#include "cli/chat_client.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "base/net/sse.h"

namespace kantha::cli {
namespace {

using namespace std::chrono_literals;

/// A long prompt on a slow machine may take minutes before its first token.
constexpr Duration kFirstByteWithin = 600s;
constexpr Duration kIdleAtMost = 300s;
constexpr Duration kListWithin = 10s;
constexpr std::size_t kErrorBytesMax = 64u << 10;
constexpr std::size_t kEventBytesMax = 8u << 20;
constexpr std::int64_t kWindowMax = 1 << 30;

/// What one event of a stream says.
struct Event {
  std::string text;
  bool done = false;
};

Result<Event> read_event(const std::string& payload) {
  Event out;
  if (payload == "[DONE]") {
    out.done = true;
    return out;
  }
  TRY(const Json json, parse_json(payload));
  if (!json.is_object()) return data_loss("the stream has an event that is no object");
  if (json.contains("error")) return unavailable(error_message(payload));
  const auto choices = json.find("choices");
  if (choices == json.end() || !choices->is_array() || choices->empty()) return out;
  const Json& choice = choices->front();
  if (!choice.is_object()) return out;
  const auto delta = choice.find("delta");
  if (delta == choice.end() || !delta->is_object()) return out;
  const auto content = delta->find("content");
  if (content != delta->end() && content->is_string()) out.text = content->get<std::string>();
  return out;
}

/// As OpenAI's own clients take it; servers that ask for no key ignore it.
void put_key(net::HttpRequest& request) {
  const char* key = std::getenv("OPENAI_API_KEY");
  if (key != nullptr && *key != '\0') {
    request.headers.set("Authorization", std::string("Bearer ") + key);
  }
}

net::Task<Error> read_refusal(std::unique_ptr<net::ResponseStream> stream) {
  std::string body;
  const int status = stream->status();
  while (body.size() < kErrorBytesMax) {
    const Result<std::string> piece = co_await stream->read(kListWithin);
    if (!piece.ok() || piece->empty()) break;
    body += *piece;
  }
  co_return unavailable("HTTP " + std::to_string(status) + ": " + error_message(body));
}

net::Task<Result<std::string>> read_answer(std::unique_ptr<net::ResponseStream> stream,
                                           OnText on_text) {
  net::SseReader reader;
  std::string answer;
  while (true) {
    Result<std::string> bytes = co_await stream->read(kIdleAtMost);
    if (!bytes.ok()) co_return std::move(bytes).error();
    if (bytes->empty()) co_return data_loss("the answer ended without its end mark");
    const std::vector<std::string> payloads = reader.feed(*bytes);
    for (const std::string& payload : payloads) {
      Result<Event> event = read_event(payload);
      if (!event.ok()) co_return std::move(event).error();
      if (event->done) co_return answer;
      answer += event->text;
      if (!event->text.empty()) on_text(event->text);
    }
    if (reader.pending_bytes() > kEventBytesMax) co_return data_loss("an event has no end");
  }
}

Result<ListedModel> listed_model(const std::string& body, const std::string& id) {
  TRY(const Json json, parse_json(body));
  const Json::json_pointer list("/data");
  const bool has_list = json.contains(list) && json.at(list).is_array();
  for (const Json& model : has_list ? json.at(list) : Json::array()) {
    if (!model.is_object() || !model.contains("id") || !model["id"].is_string()) continue;
    ListedModel out{model["id"].get<std::string>()};
    if (!id.empty() && out.id != id) continue;
    const auto window = model.find("max_model_len");
    if (window != model.end() && window->is_number_integer()) {
      out.window = static_cast<int>(std::clamp<std::int64_t>(*window, 0, kWindowMax));
    }
    return out;
  }
  if (!id.empty()) return ListedModel{id};
  return not_found("the server lists no model");
}

}  // namespace

std::string error_message(const std::string& body) {
  const Result<Json> json = parse_json(body);
  if (json.ok() && json->is_object() && json->contains("error")) {
    const Json& error = (*json)["error"];
    if (error.is_object() && error.contains("message") && error["message"].is_string()) {
      return error["message"].get<std::string>();
    }
    if (error.is_string()) return error.get<std::string>();
  }
  return body.substr(0, 500);
}

Result<net::Endpoint> parse_base_url(const std::string& url) {
  std::string base = url;
  while (base.ends_with('/')) base.pop_back();
  if (base.ends_with("/v1")) base.resize(base.size() - 3);
  return net::parse_endpoint(base);
}

int fitting_max_tokens(int wanted, int window) {
  return window <= 0 ? wanted : std::clamp(window / 2, 1, wanted);
}

net::Task<Result<ListedModel>> find_model(net::HttpClient& client, net::Endpoint endpoint,
                                          std::string id) {
  net::HttpRequest request;
  request.target = "/v1/models";
  put_key(request);
  Result<net::HttpResponse> answer =
      co_await client.call(std::move(endpoint), std::move(request), kListWithin);
  if (!answer.ok()) co_return std::move(answer).error();
  if (answer->status != 200) co_return unavailable(error_message(answer->body));
  co_return listed_model(answer->body, id);
}

net::Task<Result<std::string>> stream_chat(net::HttpClient& client, net::Endpoint endpoint,
                                           std::string model, Json messages, ChatSetting setting,
                                           OnText on_text) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/v1/chat/completions";
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "text/event-stream");
  put_key(request);
  Json body = {{"model", std::move(model)}, {"stream", true}};
  body["messages"] = std::move(messages);
  body["max_tokens"] = setting.max_tokens;
  body["temperature"] = setting.temperature;
  request.body = dump_json(body);
  Result<std::unique_ptr<net::ResponseStream>> stream =
      co_await client.open(std::move(endpoint), std::move(request), kFirstByteWithin);
  if (!stream.ok()) co_return std::move(stream).error();
  if ((*stream)->status() != 200) co_return co_await read_refusal(std::move(stream).value());
  co_return co_await read_answer(std::move(stream).value(), std::move(on_text));
}

}  // namespace kantha::cli
