#include "noded/gateway/door_error.h"

#include "base/json.h"
#include "base/net/sse.h"

namespace kantha::noded {
namespace {

/// A word or null, as the engine and OpenAI have it: typed clients cannot read a number here.
OrderedJson code_of(int status) {
  switch (status) {
    case 401: return "invalid_api_key";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    default: return nullptr;
  }
}

const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string error_body(int status, std::string_view message) {
  OrderedJson error;
  error["message"] = message;
  error["type"] = type_of(status);
  error["param"] = nullptr;
  error["code"] = code_of(status);
  OrderedJson body;
  body["error"] = std::move(error);
  return dump_json(body);
}

}  // namespace

net::HttpResponse door_error(int status, std::string_view message, int retry_after_seconds) {
  net::HttpResponse response;
  response.status = status;
  response.headers.set("Content-Type", "application/json");
  if (retry_after_seconds > 0) {
    response.headers.set("Retry-After", std::to_string(retry_after_seconds));
  }
  response.body = error_body(status, message);
  return response;
}

std::string door_error_event(std::string_view message) {
  return net::sse_data(error_body(502, message));
}

net::Task<void> door_send(net::ResponseWriter& writer, net::HttpResponse response) {
  const Status sent = co_await writer.send(std::move(response));
  static_cast<void>(sent);
}

}  // namespace kantha::noded
