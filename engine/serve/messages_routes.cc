#include <limits>
#include <utility>

#include "base/json.h"
#include "engine/api/messages_answer.h"
#include "engine/api/messages_request.h"
#include "engine/serve/prepare.h"
#include "engine/serve/prompt.h"
#include "engine/serve/routes.h"
#include "engine/serve/text_page.h"

namespace kantha::serve {
namespace {

Result<std::string> count_page(const ServedModel& model, const std::string& body) {
  TRY(const Json json, parse_json(body));
  TRY(api::TranslatedRequest request, api::read_count_tokens_request(json, request_limits(model)));
  api::keep_order(body, request.tools);
  TRY_OK(check_model_name(model, request.fields.model));
  TRY(const ChatPrompt prompt,
      chat_prompt(model, request, std::numeric_limits<std::int32_t>::max()));
  return dump_json(api::count_tokens_json(static_cast<std::int64_t>(prompt.ids.size())));
}

}  // namespace

net::Task<void> post_count_tokens(ServeState* state, net::HttpRequest request,
                                  net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kMessagesAnswers, std::move(request.body), &count_page, writer);
}

}  // namespace kantha::serve
