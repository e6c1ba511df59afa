#include "noded/engine/golden_run.h"

#include <utility>

#include "base/log.h"
#include "base/whole_file.h"
#include "noded/engine/golden_set.h"

namespace kantha::noded {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100);

net::HttpRequest completion(std::string body) {
  net::HttpRequest out;
  out.method = "POST";
  out.target = "/v1/completions";
  out.headers.set("Content-Type", "application/json");
  out.body = std::move(body);
  return out;
}

Result<GoldenSet> read_set(const std::string& path) {
  TRY(const std::string text, read_whole_file(path, kGoldenBytesMax));
  return golden_set_from_json(text);
}

}  // namespace

std::optional<GoldenRun::Engine> GoldenRun::engine() const {
  if (!keeper_.ready() || keeper_.config_hash().empty()) return std::nullopt;
  return Engine{keeper_.process(), keeper_.config_hash()};
}

std::optional<GoldenState> GoldenRun::state() const {
  if (path_.empty()) return std::nullopt;
  if (engine() != asked_) return GoldenState{};
  return state_;
}

void GoldenRun::note_failure(const std::string& what) {
  if (state_.failed++ == 0) state_.message = what;
  log_warn("golden prompts", {{"difference", what}});
}

net::Task<void> GoldenRun::ask_all(Engine engine_now) {
  asked_ = engine_now;
  state_ = {};
  const Result<GoldenSet> set = read_set(path_);
  if (!set.ok()) {
    // Nobody's fault but the set's: the engine is not blamed, and people are told.
    state_.done = true;
    state_.message = "no golden prompts: " + set.error().to_string();
    co_return;
  }
  state_.prompts = static_cast<std::int64_t>(set->prompts.size());
  for (std::size_t i = 0; i < set->prompts.size(); ++i) {
    if (engine() != engine_now) co_return;
    const GoldenPrompt& prompt = set->prompts[i];
    const Result<net::HttpResponse> answer = co_await client_.call(
        keeper_.endpoint(), completion(golden_request(prompt, model_)), set->timeout);
    if (engine() != engine_now) co_return;
    const std::string difference = answer.ok()
                                       ? golden_difference(prompt, answer->status, answer->body)
                                       : answer.error().message;
    if (!difference.empty()) {
      note_failure("golden prompt " + std::to_string(i + 1) + ": " + difference);
    }
  }
  state_.done = true;
}

net::Task<void> GoldenRun::run(std::function<bool()> ended) {
  if (path_.empty()) co_return;
  while (!ended()) {
    const std::optional<Engine> now = engine();
    if (now && now != asked_) co_await ask_all(*now);
    co_await net::sleep_for(kLookEvery);
  }
}

}  // namespace kantha::noded
