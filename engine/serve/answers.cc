#include "engine/serve/answers.h"

#include <utility>

#include "base/log.h"
#include "engine/api/openai_error.h"

namespace kantha::serve {
namespace {

net::Task<void> send_whole(net::ResponseWriter& writer, net::HttpResponse response) {
  const Status sent = co_await writer.send(std::move(response));
  if (!sent.ok()) log_debug("answer not delivered", {{"error", sent.error().message}});
}

net::HttpResponse make_response(int status, std::string type, std::string body) {
  net::HttpResponse response;
  response.status = status;
  response.headers.set("Content-Type", std::move(type));
  response.body = std::move(body);
  return response;
}

}  // namespace

net::Task<void> send_json(net::ResponseWriter& writer, int status, std::string body) {
  net::HttpResponse response = make_response(status, "application/json", std::move(body));
  co_await send_whole(writer, std::move(response));
}

net::Task<void> send_text(net::ResponseWriter& writer, int status, std::string body) {
  net::HttpResponse response =
      make_response(status, "text/plain; version=0.0.4; charset=utf-8", std::move(body));
  co_await send_whole(writer, std::move(response));
}

net::Task<void> send_error(net::ResponseWriter& writer, Error error, const api::AnswerApi* api) {
  api::HttpError answer = api::error_of(*api, error);
  net::HttpResponse response =
      make_response(answer.status, "application/json", std::move(answer.body));
  if (answer.retry_after_s > 0) {
    response.headers.set("Retry-After", std::to_string(answer.retry_after_s));
  }
  if (error.reason == api::kReasonDraining) response.headers.set("Connection", "close");
  co_await send_whole(writer, std::move(response));
}

}  // namespace kantha::serve
