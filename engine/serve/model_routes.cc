#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "engine/api/model_list.h"
#include "engine/serve/answers.h"
#include "engine/serve/prepare.h"
#include "engine/serve/routes.h"

namespace kantha::serve {
namespace {

api::ModelCard card_of(const ServedModel& model) {
  return {.id = model.name,
          .created = model.created,
          .max_model_len = model.engine->limits().context_max};
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// A path segment's text; malformed escapes stay as they are and then match no model.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                        hex_value(text[i + 2]) >= 0;
    if (escape) {
      decoded += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

}  // namespace

net::Task<void> get_models(ServeState* state, net::HttpRequest, net::ResponseWriter& writer) {
  auto model = loaded_model(*state);
  if (!model.ok()) {
    Error error = std::move(model).error();
    co_await send_error(writer, std::move(error));
    co_return;
  }
  co_await send_json(writer, 200, dump_json(api::model_list_json(card_of(**model))));
}

net::Task<void> get_model(ServeState* state, net::HttpRequest request,
                          net::ResponseWriter& writer) {
  constexpr std::string_view kPrefix = "/v1/models/";
  auto model = loaded_model(*state);
  Status found = ok_status();
  if (model.ok()) {
    const std::string id = percent_decoded(request.path().substr(kPrefix.size()));
    found = check_model_name(**model, id);
  } else {
    found = std::move(model).error();
  }
  if (!found.ok()) {
    Error error = std::move(found).error();
    co_await send_error(writer, std::move(error));
    co_return;
  }
  co_await send_json(writer, 200, dump_json(api::model_json(card_of(**model))));
}

}  // namespace kantha::serve
