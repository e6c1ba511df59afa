#pragma once

#include <string>

#include "base/net/task.h"

#include "base/net/http_server.h"
#include "base/result.h"
#include "engine/api/answer_writer.h"

/// The few ways in which a handler answers whole. I/O thread; a client that left is no error here.
namespace kantha::serve {

net::Task<void> send_json(net::ResponseWriter& writer, int status, std::string body);
net::Task<void> send_text(net::ResponseWriter& writer, int status, std::string body);
/// The error object of `api` with its status; Retry-After on 429 and 503, and Connection: close
/// while the server drains.
net::Task<void> send_error(net::ResponseWriter& writer, Error error,
                           const api::AnswerApi* api = &api::kOpenAiAnswers);

}  // namespace kantha::serve
