#pragma once

#include <memory>
#include <string>

#include "base/net/http_client.h"
#include "base/net/task.h"
#include "bench/load/request_log.h"

/// One request and its answer, with the times at which the parts came. One executor.
namespace kantha::bench {

/// What all requests to one server have in common.
struct ServerDoor {
  net::Endpoint endpoint;
  std::string api_key = {};                      ///< sent as a bearer token; empty: none
  Duration timeout = std::chrono::seconds(600);  ///< of a whole request, from when it was sent
};

/// One request, ready to go.
struct PreparedRequest {
  std::string target;
  std::string body;
  bool is_stream = true;
  int output_tokens_max = 0;  ///< more chunks than this and some slack make an answer "endless"
};

/// POSTs the request and reads its answer to the end. Never fails: what went wrong is in the log.
/// `origin`: what the log's times count from. `cancel` ends it at any point. When the server closed
/// a kept connection before any byte of the answer, the request is sent once more on a fresh one;
/// its times and its timeout go on from the first try.
/// An answer is at most 64 MiB, an event at most 8 MiB.
net::Task<RequestLog> exchange(std::shared_ptr<net::HttpClient> client, ServerDoor door,
                               PreparedRequest request, TimePoint origin,
                               std::shared_ptr<net::CancelSignal> cancel);

/// A request to that server with its headers.
net::HttpRequest request_to(const ServerDoor& door, std::string method, std::string target);

}  // namespace kantha::bench
