#pragma once

#include <string>
#include <string_view>

#include "base/net/http.h"
#include "base/net/http_server.h"

namespace kantha::noded {

/// What an answer says of what went wrong. An empty type or code is by the status.
struct DoorError {
  int status = 500;
  std::string message;
  std::string type = {};
  std::string code = {};
  std::string param = {};
  int retry_after_seconds = 0;  ///< > 0 adds the header
};

/// An answer with OpenAI's error object: {"error": {"message", "type", "param", "code"}}.
net::HttpResponse door_error(const DoorError& error);

/// The same, with the words that go with the status.
net::HttpResponse door_error(int status, std::string_view message, int retry_after_seconds = 0);

/// The same object as the last event of a stream that is already running.
std::string door_error_event(std::string_view message);

/// Sends an answer. That the client has left meanwhile is no error of ours.
net::Task<void> door_send(net::ResponseWriter& writer, net::HttpResponse response);

}  // namespace kantha::noded
