#include <utility>

#include "engine/serve/answers.h"
#include "engine/serve/generation.h"
#include "engine/serve/prepare.h"
#include "engine/serve/routes.h"

namespace kantha::serve {
namespace {

/// Counts a request while it is answered; the drain waits for these.
class Counted {
 public:
  explicit Counted(ServeState& state) : state_(state) { ++state_.generations; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --state_.generations; }

 private:
  ServeState& state_;
};

net::Task<void> run_or_refuse(ServeState* state, Result<GenerationJob> job,
                              net::ResponseWriter& writer) {
  if (!job.ok()) {
    Error error = std::move(job).error();
    co_await refuse_generation(state, std::move(error), writer);
    co_return;
  }
  GenerationJob ready = std::move(job).value();
  co_await run_generation(state, std::move(ready), writer);
}

}  // namespace

net::Task<void> post_chat_completions(ServeState* state, net::HttpRequest request,
                                      net::ResponseWriter& writer) {
  const Counted counted(*state);
  Result<GenerationJob> job = co_await prepare_chat(state, std::move(request.body), writer);
  co_await run_or_refuse(state, std::move(job), writer);
}

net::Task<void> post_completions(ServeState* state, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  const Counted counted(*state);
  Result<GenerationJob> job = co_await prepare_completion(state, std::move(request.body), writer);
  co_await run_or_refuse(state, std::move(job), writer);
}

}  // namespace kantha::serve
