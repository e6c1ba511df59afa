#include "tests/bench/load/scripted_server.h"

#include <algorithm>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "base/net/sse.h"

namespace kantha::bench {
namespace asio = boost::asio;
namespace {

int words_in(const std::string& text) {
  return text.empty() ? 0 : static_cast<int>(std::ranges::count(text, ' ')) + 1;
}

std::string prompt_of(const Json& request) {
  return request.contains("messages") ? request["messages"][0]["content"].get<std::string>()
                                      : request["prompt"].get<std::string>();
}

}  // namespace

ScriptedServer::ScriptedServer(asio::io_context& context, Script script)
    : context_(context),
      script_(std::move(script)),
      server_(context.get_executor(), [this](net::HttpRequest request, net::ResponseWriter& w) {
        return answer(std::move(request), w);
      }) {
  endpoint_ = server_.listen({"127.0.0.1", 0}).value();
}

ScriptedServer::~ScriptedServer() {
  server_.close();
  context_.restart();
  context_.poll();
}

net::Task<void> ScriptedServer::answer(net::HttpRequest request, net::ResponseWriter& writer) {
  if (request.path().starts_with("/v1/") && request.method == "POST") {
    co_await complete(std::move(request), writer);
    co_return;
  }
  net::HttpResponse response;
  if (request.path() == "/v1/models") {
    response.body = R"({"data":[{"id":"first","max_model_len":8192},{"id":"second"}]})";
  } else if (request.path() == "/tokenize" && script_.has_tokenize) {
    const Json body = parse_json(request.body).value();
    response.body =
        dump_json(Json{{"count", words_in(body.value("prompt", "")) * script_.tokens_per_word}});
  } else if (request.path() == "/metrics" && script_.has_metrics) {
    response.body = "vllm:prompt_tokens_total{m=\"x\"} " + std::to_string(requests_.size()) + "\n";
  } else {
    response.status = 404;
    response.body = R"({"error":{"message":"no such thing"}})";
  }
  (void)co_await writer.send(std::move(response));
}

net::Task<void> ScriptedServer::complete(net::HttpRequest request, net::ResponseWriter& writer) {
  requests_.push_back(parse_json(request.body).value());
  const Json body = requests_.back();
  running_peak_ = std::max(running_peak_, ++running_);
  net::HttpResponse response;
  response.status = requests_.size() <= script_.fail_first ? 500 : script_.status;
  if (response.status != 200) {
    response.body = script_.body;
    (void)co_await writer.send(std::move(response));
  } else if (body.value("stream", false)) {
    co_await stream(body, writer);
  } else {
    const int chunks = body["max_tokens"].get<int>();
    const Json choice = {{"message", {{"content", "hello"}}}, {"finish_reason", "length"}};
    Json whole = {{"choices", Json::array({choice})}};
    if (script_.has_usage) whole["usage"] = parse_json(usage(body, chunks)).value();
    response.body = script_.body.empty() ? dump_json(whole) : script_.body;
    if (script_.chunk_every_ms > 0) {
      co_await net::sleep_for(std::chrono::milliseconds(script_.chunk_every_ms));
    }
    (void)co_await writer.send(std::move(response));
  }
  --running_;
}

std::string ScriptedServer::usage(const Json& request, int chunks) const {
  const int words = words_in(prompt_of(request));
  const int beside = request.contains("messages") ? script_.tokens_beside : 0;
  return dump_json(Json{{"prompt_tokens", words * script_.tokens_per_word + beside},
                        {"completion_tokens", chunks}});
}

net::Task<void> ScriptedServer::stream(Json request, net::ResponseWriter& writer) {
  net::Headers headers{{"Content-Type", script_.content_type}};
  (void)co_await writer.start(200, std::move(headers));
  const int wanted = request["max_tokens"].get<int>();
  const int chunks = script_.chunks_max < 0 ? wanted : std::min(wanted, script_.chunks_max);
  std::string role = net::sse_data(R"({"choices":[{"delta":{"role":"assistant"}}]})");
  (void)co_await writer.write(std::move(role));
  for (int i = 0; i < chunks; ++i) {
    if (script_.chunk_every_ms > 0) {
      co_await net::sleep_for(std::chrono::milliseconds(script_.chunk_every_ms));
    }
    std::string chunk;
    for (int k = 0; k < script_.repeat_chunks; ++k) {
      chunk += net::sse_data(R"({"choices":[{"delta":{"content":"a"},"text":"a"}]})");
    }
    const Status written = co_await writer.write(std::move(chunk));
    if (!written.ok()) co_return;
  }
  std::string end;
  if (script_.extra_event) end += net::sse_data(*script_.extra_event);
  if (script_.has_finish) {
    end += net::sse_data(R"({"choices":[{"delta":{},"finish_reason":"length"}]})");
  }
  if (script_.has_usage) {
    end += net::sse_data(R"({"choices":[],"usage":)" + usage(request, chunks) + "}");
  }
  if (script_.has_end_mark) end += net::sse_data("[DONE]");
  if (!end.empty()) (void)co_await writer.write(std::move(end));
  while (script_.stalls && !writer.client_gone()) {
    co_await net::sleep_for(std::chrono::milliseconds(10));
  }
  if (script_.cuts) {
    writer.abort();
  } else {
    (void)co_await writer.finish();
  }
}

RawServer::RawServer(asio::io_context& context, Answer answer)
    : context_(context),
      answer_(std::move(answer)),
      acceptor_(context, {asio::ip::make_address("127.0.0.1"), 0}),
      endpoint_{"127.0.0.1", acceptor_.local_endpoint().port()},
      tasks_(context.get_executor(), "raw server"),
      ended_(context.get_executor()) {
  tasks_.spawn(accept_loop());
}

RawServer::~RawServer() {
  is_closed_ = true;
  acceptor_.close();
  ended_.notify();
  context_.restart();
  while (tasks_.running() > 0 && context_.run_one() > 0) {
  }
}

net::Task<void> RawServer::accept_loop() {
  while (!is_closed_) {
    boost::system::error_code failure;
    asio::ip::tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failure));
    if (failure) co_return;
    ++connection_count_;
    tasks_.spawn(serve(std::move(socket)));
  }
}

net::Task<void> RawServer::serve(asio::ip::tcp::socket socket) {
  boost::system::error_code failure;
  std::string head(64u << 10, '\0');
  const auto into = asio::buffer(head);
  co_await socket.async_read_some(into, asio::redirect_error(asio::use_awaitable, failure));
  const auto first = asio::buffer(answer_.first);
  co_await asio::async_write(socket, first, asio::redirect_error(asio::use_awaitable, failure));
  const auto more = asio::buffer(answer_.then_for_ever);
  while (!failure && !is_closed_ && more.size() > 0) {
    co_await asio::async_write(socket, more, asio::redirect_error(asio::use_awaitable, failure));
  }
  if (answer_.parting && !failure) {
    co_await socket.async_read_some(into, asio::redirect_error(asio::use_awaitable, failure));
    if (failure || is_closed_) co_return;
    co_await net::sleep_for(std::chrono::milliseconds(answer_.parting->after_ms));
    const auto last = asio::buffer(answer_.parting->bytes);
    co_await asio::async_write(socket, last, asio::redirect_error(asio::use_awaitable, failure));
    co_return;
  }
  if (!answer_.closes && !is_closed_ && !failure) co_await ended_.wait(std::chrono::seconds(30));
}

}  // namespace kantha::bench
