#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/base/net/loopback.h"

#include "base/ids.h"
#include "base/json.h"
#include "base/net/http_client.h"
#include "base/process.h"

/// The real kantha-engine with the real model on a Unix socket, as a front door has it.
namespace kantha::serve {

/// What a completed stream said.
struct ModelAnswer {
  std::string text;
  std::string finish;
  std::vector<TokenId> token_ids;
  std::int64_t seed = 0;
  bool done = false;
  auto operator<=>(const ModelAnswer&) const = default;
};

class EngineProgram {
 public:
  /// Starts it and waits until it is ready; the test fails when it does not get there.
  explicit EngineProgram(std::vector<std::string> more_flags = {});

  Process& process() { return *process_; }
  const net::Endpoint& endpoint() const { return endpoint_; }
  net::HttpResponse call(const std::string& method, const std::string& path,
                         const Json& body = nullptr);
  /// Runs the requests all at once, streamed, and gives their answers in order.
  std::vector<ModelAnswer> stream_together(const std::vector<std::pair<std::string, Json>>& asked);
  ModelAnswer stream(const std::string& path, const Json& body);
  /// The exit, once it has ended; nullopt after patience.
  std::optional<ProcessExit> wait_exit();

  /// The path of the program under test.
  static std::string binary();
  /// The test model; empty when it is not there (with a failure that says how to get it).
  static std::string model();

 private:
  net::TempDir folder_;
  net::Endpoint endpoint_;
  std::optional<Process> process_;
};

}  // namespace kantha::serve
