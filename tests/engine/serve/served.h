#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/net/loopback.h"

#include "base/json.h"
#include "base/net/http_client.h"
#include "engine/serve/engine_server.h"
#include "tests/fake/fake_engine_port.h"

/// A whole server on loopback in front of a fake engine, and a client for it.
namespace kantha::serve {

/// One answer of a stream.
struct StreamedAnswer {
  int status = 0;
  std::string content_type;
  std::vector<std::string> payloads;  ///< of the data events, "[DONE]" included
  std::string raw;

  /// The payloads that are JSON.
  std::vector<Json> chunks() const;
  /// All deltas' text of one choice, of either API.
  std::string text(int index = 0) const;
  bool done() const { return !payloads.empty() && payloads.back() == "[DONE]"; }
};

struct ServedOptions {
  std::int32_t context_max = 512;
  double keepalive_s = 5;
  std::int32_t drain_timeout_s = 5;
  std::string admin_token = {};
  bool unix_socket = false;
  std::string chat_template = {};  ///< empty: ChatML without functions
  std::string tool_parser = "auto";
  std::string reasoning_parser = "auto";
  bool add_eos = false;    ///< texts to embed end with <|endoftext|>
  bool slow_boot = false;  ///< stays loading until finish_boot()
};

/// EngineServer with its I/O thread; shut down and joined at the end.
class Served {
 public:
  explicit Served(ServedOptions options = {});
  ~Served();

  fake::FakeEnginePort& engine() { return *engine_; }
  EngineServer& server() { return *server_; }
  const net::Endpoint& endpoint() const { return server_->endpoints().front(); }
  const net::Endpoint& unix_endpoint() const { return server_->endpoints().back(); }
  void finish_boot();
  /// Joins the I/O thread after a shutdown; gives the exit status.
  int join();

  net::HttpResponse call(const std::string& method, const std::string& path,
                         const std::string& body = {}, net::Headers headers = {});
  net::HttpResponse call_at(const net::Endpoint& endpoint, const std::string& method,
                            const std::string& path, const std::string& body = {},
                            net::Headers headers = {});
  net::HttpResponse post(const std::string& path, const Json& body) {
    return call("POST", path, body.dump());
  }
  StreamedAnswer stream(const std::string& path, const Json& body);
  /// A raw connection that has sent a POST and read nothing.
  std::unique_ptr<net::RawPeer> open_post(const std::string& path, const Json& body);
  /// The value of one series of /metrics, by its whole name with labels' substring; -1 when absent.
  double metric(const std::string& name, const std::string& label = {});

 private:
  net::TempDir folder_;
  std::shared_ptr<fake::FakeEnginePort> engine_;
  std::promise<void> boot_;
  std::unique_ptr<EngineServer> server_;
  std::thread thread_;
  int exit_status_ = -1;
  bool boot_finished_ = false;
};

/// {"model":"m","messages":[{"role":"user","content":"hi"}],…}
Json chat(Json more = Json::object());
/// {"model":"m","prompt":"hi",…}
Json completion(Json more = Json::object());
/// error.KEY of an error body, as text; "null" for null.
std::string error_key(const net::HttpResponse& response, const char* key);

}  // namespace kantha::serve
