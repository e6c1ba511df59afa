#include "engine/serve/text_page.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/serve/answers.h"
#include "engine/serve/prepare.h"
#include "engine/serve/text_turn.h"

namespace kantha::serve {
namespace {

/// What the work owns, since it may outlive its request.
struct Page {
  std::shared_ptr<const ServedModel> model;
  std::string body;
  std::optional<Result<std::string>> answer;
};

net::Task<Result<std::string>> make_page(ServeState* state, std::string body, PageMaker make,
                                         net::ResponseWriter& writer) {
  const auto page = std::make_shared<Page>();
  CO_TRY(page->model, loaded_model(*state));
  page->body = std::move(body);
  TextTurn turn(state->text_tasks, state->executor, state->clock, writer);
  std::function<void()> work = [page, make] {
    page->answer.emplace(make(*page->model, page->body));
  };
  net::WorkerPool& worker = state->worker_for(page->body.size());
  CO_TRY_OK(co_await turn.run(worker, std::move(work)));
  co_return std::move(*page->answer);
}

}  // namespace

net::Task<void> answer_page(ServeState* state, const api::AnswerApi* api, std::string body,
                            PageMaker make, net::ResponseWriter& writer) {
  Result<std::string> result = co_await make_page(state, std::move(body), make, writer);
  if (result.ok()) {
    co_await send_json(writer, 200, std::move(result).value());
    co_return;
  }
  Error error = std::move(result).error();
  if (error.code == Code::kCancelled) {
    writer.abort();
    co_return;
  }
  co_await send_error(writer, std::move(error), api);
}

}  // namespace kantha::serve
