#include "tests/engine/serve/engine_program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/net/sse.h"
#include "base/net/task_group.h"

namespace kantha::serve {
namespace {

constexpr Duration kCallTimeout = std::chrono::seconds(120);
constexpr int kStartPatienceS = 60;

/// Polls for as long as a loaded machine may need.
bool patiently(const std::function<bool()>& condition) {
  const TimePoint until = system_clock().now() + std::chrono::seconds(kStartPatienceS);
  while (system_clock().now() < until) {
    if (net::eventually(condition)) return true;
  }
  return false;
}

void take_payload(const std::string& payload, ModelAnswer& answer) {
  if (payload == "[DONE]") {
    answer.done = true;
    return;
  }
  const Json chunk = Json::parse(payload);
  if (chunk.contains("kantha")) {
    for (const Json& id : chunk["kantha"]["token_ids"]) answer.token_ids.push_back(id);
    answer.seed = chunk["kantha"].value("seed", answer.seed);
  }
  if (!chunk.contains("choices")) return;
  for (const Json& choice : chunk["choices"]) {
    if (choice.contains("text")) answer.text += choice["text"].get<std::string>();
    if (choice.contains("delta")) answer.text += choice["delta"].value("content", "");
    if (choice["finish_reason"].is_string()) answer.finish = choice["finish_reason"];
  }
}

net::Task<void> stream_into(net::HttpClient* client, net::Endpoint endpoint,
                            net::HttpRequest request, ModelAnswer* answer) {
  auto opened = co_await client->open(endpoint, std::move(request), kCallTimeout);
  if (!opened.ok()) {
    answer->finish = opened.error().to_string();
    co_return;
  }
  const std::unique_ptr<net::ResponseStream> stream = std::move(opened).value();
  net::SseReader reader;
  while (true) {
    const Result<std::string> piece = co_await stream->read(kCallTimeout);
    if (!piece.ok() || piece->empty()) break;
    for (const std::string& payload : reader.feed(*piece)) take_payload(payload, *answer);
  }
}

net::Task<bool> joined(net::TaskGroup* tasks) {
  co_await tasks->join();
  co_return true;
}

}  // namespace

std::string EngineProgram::binary() {
  const char* folder = std::getenv("KANTHA_BIN_DIR");
  return folder != nullptr ? std::string(folder) + "/kantha-engine" : "kantha-engine";
}

std::string EngineProgram::model() {
  const char* path = std::getenv("KANTHA_TEST_MODEL");
  if (path != nullptr && std::filesystem::exists(path)) return path;
  ADD_FAILURE() << "the test model is not there; scripts/fetch-model gets it";
  return {};
}

EngineProgram::EngineProgram(std::vector<std::string> more_flags) {
  const std::string path = model();
  if (path.empty()) return;
  endpoint_.unix_path = folder_.file("engine.sock");
  ProcessSpec spec;
  spec.binary = binary();
  spec.args = {"--model",
               path,
               "--served-model-name",
               "m",
               "--listen",
               endpoint_.to_string(),
               "--max-model-len",
               "2048",
               "--kv-cache-memory",
               "512Mi",
               "--log-level",
               "warn"};
  for (std::string& flag : more_flags) spec.args.push_back(std::move(flag));
  auto process = Process::spawn(spec);
  if (!process.ok()) {
    ADD_FAILURE() << process.error().to_string();
    return;
  }
  process_ = std::move(process).value();
  EXPECT_TRUE(patiently([this] { return call("GET", "/ready").status == 200; }));
}

net::HttpResponse EngineProgram::call(const std::string& method, const std::string& path,
                                      const Json& body) {
  boost::asio::io_context io;
  net::HttpClient client(io.get_executor());
  net::HttpRequest request{
      .method = method, .target = path, .body = body.is_null() ? "" : body.dump()};
  auto response = net::run_on(io, client.call(endpoint_, std::move(request), kCallTimeout));
  if (response.ok()) return std::move(response).value();
  return {.status = 0, .headers = {}, .body = response.error().to_string()};
}

std::vector<ModelAnswer> EngineProgram::stream_together(
    const std::vector<std::pair<std::string, Json>>& asked) {
  boost::asio::io_context io;
  net::HttpClient client(io.get_executor());
  net::TaskGroup tasks(io.get_executor(), "streams");
  std::vector<ModelAnswer> answers(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Json body = asked[i].second;
    body["stream"] = true;
    net::HttpRequest request{.method = "POST", .target = asked[i].first, .body = body.dump()};
    tasks.spawn(stream_into(&client, endpoint_, std::move(request), &answers[i]));
  }
  net::run_on(io, joined(&tasks));
  return answers;
}

ModelAnswer EngineProgram::stream(const std::string& path, const Json& body) {
  return stream_together({{path, body}}).front();
}

std::optional<ProcessExit> EngineProgram::wait_exit() {
  std::optional<ProcessExit> exit;
  patiently([&] { return (exit = process_->poll()).has_value(); });
  return exit;
}

}  // namespace kantha::serve
