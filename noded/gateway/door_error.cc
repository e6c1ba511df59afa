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

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

std::string error_body(const DoorError& wrong) {
  OrderedJson error;
  error["message"] = wrong.message;
  error["type"] = wrong.type.empty() ? type_of(wrong.status) : wrong.type;
  error["param"] = text_or_null(wrong.param);
  error["code"] = wrong.code.empty() ? code_of(wrong.status) : OrderedJson(wrong.code);
  OrderedJson body;
  body["error"] = std::move(error);
  return dump_json(body);
}

}  // namespace

net::HttpResponse door_error(const DoorError& error) {
  net::HttpResponse response;
  response.status = error.status;
  response.headers.set("Content-Type", "application/json");
  if (error.retry_after_seconds > 0) {
    response.headers.set("Retry-After", std::to_string(error.retry_after_seconds));
  }
  response.body = error_body(error);
  return response;
}

net::HttpResponse door_error(int status, std::string_view message, int retry_after_seconds) {
  return door_error({.status = status,
                     .message = std::string(message),
                     .retry_after_seconds = retry_after_seconds});
}

std::string door_error_event(std::string_view message) {
  return net::sse_data(error_body({.status = 502, .message = std::string(message)}));
}

net::Task<void> door_send(net::ResponseWriter& writer, net::HttpResponse response) {
  const Status sent = co_await writer.send(std::move(response));
  static_cast<void>(sent);
}

}  // namespace kantha::noded
