#include "tests/engine/serve/served.h"

#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/net/sse.h"
#include "tests/fake/byte_vocabulary.h"

namespace kantha::serve {
namespace {

constexpr Duration kCallTimeout = std::chrono::seconds(10);

Result<ServedModel> make_model(std::shared_ptr<fake::FakeEnginePort> engine,
                               const ServedOptions& options) {
  text::Vocabulary vocabulary = fake::byte_vocabulary();
  if (!options.chat_template.empty()) vocabulary.chat_template = options.chat_template;
  if (options.add_eos) vocabulary.eos = fake::kDocumentEnd;
  vocabulary.add_eos = options.add_eos;
  TRY(text::ChatTemplate chat_template, text::ChatTemplate::parse(vocabulary.chat_template));
  TRY(text::Tokenizer tokenizer, text::Tokenizer::build(std::move(vocabulary)));
  TRY(ModelDialect dialect,
      model_dialect(tokenizer, &chat_template, options.tool_parser, options.reasoning_parser));
  return ServedModel{.name = "m",
                     .created = 17,
                     .fingerprint = "kantha-test",
                     .tokenizer = std::move(tokenizer),
                     .chat_template = std::move(chat_template),
                     .dialect = std::move(dialect),
                     .engine = std::move(engine)};
}

EngineConfig make_config(const ServedOptions& options, const net::TempDir& folder) {
  EngineConfig config;
  config.model_path = "none";
  config.keepalive_s = options.keepalive_s;
  config.drain_timeout_s = options.drain_timeout_s;
  config.hash = "abc";
  config.listen.push_back({.host = "127.0.0.1"});
  if (options.unix_socket) config.listen.push_back({.unix_path = folder.file("engine.sock")});
  if (!options.admin_token.empty()) {
    config.admin_token_path = folder.file("token");
    std::ofstream(config.admin_token_path) << options.admin_token << "\n";
  }
  return config;
}

net::Task<Result<std::string>> read_all(std::unique_ptr<net::ResponseStream>* stream) {
  std::string all;
  while (true) {
    Result<std::string> piece = co_await (*stream)->read(kCallTimeout);
    if (!piece.ok()) co_return std::move(piece).error();
    if (piece->empty()) co_return all;
    all += *piece;
  }
}

}  // namespace

std::vector<Json> StreamedAnswer::chunks() const {
  std::vector<Json> all;
  for (const std::string& payload : payloads) {
    if (payload != "[DONE]") all.push_back(Json::parse(payload));
  }
  return all;
}

std::string StreamedAnswer::text(int index) const {
  std::string text;
  for (const Json& chunk : chunks()) {
    if (!chunk.contains("choices")) continue;
    for (const Json& choice : chunk["choices"]) {
      if (choice["index"] != index) continue;
      if (choice.contains("text")) text += choice["text"].get<std::string>();
      if (choice.contains("delta")) text += choice["delta"].value("content", "");
    }
  }
  return text;
}

Served::Served(ServedOptions options) {
  set_log_level(LogLevel::kError);
  gateway::EngineLimits limits;
  limits.context_max = options.context_max;
  limits.pool_tokens = 4096;
  limits.vocabulary_size = fake::kByteVocabularySize;
  engine_ = std::make_shared<fake::FakeEnginePort>(limits);
  if (!options.slow_boot) finish_boot();
  auto wait = std::make_shared<std::shared_future<void>>(boot_.get_future());
  server_ = std::make_unique<EngineServer>(
      make_config(options, folder_),
      [engine = engine_, wait, options](PhaseBoard& board) {
        board.report("waiting for the test");
        wait->wait();
        return make_model(engine, options);
      },
      system_clock());
  const Status listening = server_->listen();
  CHECK(listening.ok(), "loopback is free");
  thread_ = std::thread([this] { exit_status_ = server_->run(); });
  if (options.slow_boot) return;
  CHECK(net::eventually([this] { return call("GET", "/ready").status == 200; }), "becomes ready");
}

Served::~Served() {
  if (thread_.joinable() && !boot_finished_) {  // two shutdowns end a process that still boots
    finish_boot();
    CHECK(net::eventually([this] { return call("GET", "/ready").status == 200; }), "becomes ready");
  }
  if (thread_.joinable()) {
    server_->shutdown();
    server_->shutdown();
    thread_.join();
  }
}

void Served::finish_boot() {
  if (!std::exchange(boot_finished_, true)) boot_.set_value();
}

int Served::join() {
  thread_.join();
  return exit_status_;
}

net::HttpResponse Served::call_at(const net::Endpoint& endpoint, const std::string& method,
                                  const std::string& path, const std::string& body,
                                  net::Headers headers) {
  boost::asio::io_context io;
  net::HttpClient client(io.get_executor());
  net::HttpRequest request{
      .method = method, .target = path, .headers = std::move(headers), .body = body};
  auto response = net::run_on(io, client.call(endpoint, std::move(request), kCallTimeout));
  if (response.ok()) return std::move(response).value();
  return {.status = 0, .headers = {}, .body = response.error().to_string()};
}

net::HttpResponse Served::call(const std::string& method, const std::string& path,
                               const std::string& body, net::Headers headers) {
  return call_at(endpoint(), method, path, body, std::move(headers));
}

StreamedAnswer Served::stream(const std::string& path, const Json& body) {
  boost::asio::io_context io;
  net::HttpClient client(io.get_executor());
  net::HttpRequest request{.method = "POST", .target = path, .body = body.dump()};
  auto opened = net::run_on(io, client.open(endpoint(), std::move(request), kCallTimeout));
  StreamedAnswer answer;
  if (!opened.ok()) return answer;
  std::unique_ptr<net::ResponseStream> stream = std::move(opened).value();
  answer.status = stream->status();
  answer.content_type = stream->headers().find("content-type").value_or("");
  auto text = net::run_on(io, read_all(&stream));
  if (text.ok()) answer.raw = *text;
  net::SseReader reader;
  answer.payloads = reader.feed(answer.raw);
  return answer;
}

std::unique_ptr<net::RawPeer> Served::open_post(const std::string& path, const Json& body) {
  auto peer = std::make_unique<net::RawPeer>(endpoint());
  const std::string text = body.dump();
  peer->send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
             std::to_string(text.size()) + "\r\n\r\n" + text);
  return peer;
}

double Served::metric(const std::string& name, const std::string& label) {
  std::istringstream lines(call("GET", "/metrics").body);
  for (std::string line; std::getline(lines, line);) {
    const std::string series = line.substr(0, line.find_first_of("{ "));
    if (series != name || line.find(label) == std::string::npos) continue;
    return std::stod(line.substr(line.rfind(' ') + 1));
  }
  return -1;
}

Json chat(Json more) {
  Json body{{"model", "m"}, {"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}};
  body.update(more);
  return body;
}

Json completion(Json more) {
  Json body{{"model", "m"}, {"prompt", "hi"}};
  body.update(more);
  return body;
}

std::string error_key(const net::HttpResponse& response, const char* key) {
  const Json body = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("error")) return "no error object: " + response.body;
  const Json& value = body["error"][key];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace kantha::serve
