#pragma once

#include <string>
#include <utility>

#include "base/json.h"
#include "base/net/http.h"

/// Whole answers whose body is JSON.
namespace kantha::net {

inline HttpResponse json_text_answer(int status, std::string body) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

inline HttpResponse json_answer(int status, const Json& body) {
  return json_text_answer(status, dump_json(body));
}

}  // namespace kantha::net
