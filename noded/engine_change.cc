#include "noded/engine_change.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "base/whole_file.h"
#include "noded/engine/supervise_step.h"

namespace kantha::noded {
namespace {

/// How long running streams may hold a change up before they are taken back, to go on at the next
/// engine: whoever is new waits for them.
constexpr Duration kPatience = std::chrono::seconds(1);
/// How long a change keeps others from beginning.
constexpr Duration kReadyWithin = std::chrono::minutes(2);

}  // namespace

EngineChange::EngineChange(boost::asio::any_io_executor executor, EngineKeeper& keeper,
                           Forwarder& forwarder, std::string config_path, Duration drain_timeout)
    : keeper_(keeper),
      forwarder_(forwarder),
      config_path_(std::move(config_path)),
      drain_timeout_(drain_timeout),
      tasks_(executor, "engine change") {}

void EngineChange::restart() {
  restart_wanted_ = true;
  begin();
}

bool EngineChange::configure(std::string text) {
  std::string hash = sha256_hex(text);
  // Told again, also when the engine did not take it up: another try would change nothing and hold
  // requests for it.
  const Result<std::string> written = sha256_hex_of_file(config_path_);
  const bool same = hash == told_hash_ && written.ok() && hash == *written;
  if (same && !under_way_) return false;
  told_hash_ = std::move(hash);
  next_text_ = std::move(text);
  begin();
  return true;
}

void EngineChange::abandon() {
  abandoned_ = true;
  next_text_.reset();
  restart_wanted_ = false;
  forwarder_.set_holding(false);
}

void EngineChange::begin() {
  if (under_way_ || abandoned_) return;
  under_way_ = true;
  tasks_.spawn(run());
}

net::Task<void> EngineChange::run() {
  while (!abandoned_ && (next_text_ || restart_wanted_)) co_await change();
  under_way_ = false;
}

net::Task<void> EngineChange::change() {
  forwarder_.set_holding(true);
  bool idle = co_await forwarder_.wait_idle(std::min(drain_timeout_, kPatience));
  if (abandoned_) co_return;
  if (!idle) {
    forwarder_.recall();
    idle = co_await forwarder_.wait_idle(drain_timeout_);
    if (abandoned_) co_return;
  }
  if (!idle) log_warn("engine is replaced under running requests");
  error_.clear();
  const std::optional<std::string> text = std::exchange(next_text_, std::nullopt);
  restart_wanted_ = false;
  if (!text) {
    const Result<std::string> hash = sha256_hex_of_file(config_path_);
    if (hash.ok()) told_hash_ = *hash;
    keeper_.request_restart();
  } else if (const Status written = replace_whole_file(config_path_, *text); written.ok()) {
    log_info("engine configuration written", {{"hash", told_hash_}, {"path", config_path_}});
    keeper_.take_up_config(sha256_hex(*text));
  } else {
    error_ = written.error().message;
    log_error("engine configuration not written", {{"error", error_}});
  }
  // A keeper acts in its next turn; from then on it is the engine's phase that holds requests.
  co_await net::sleep_for(2 * kSuperviseTick);
  forwarder_.set_holding(false);
  if (!abandoned_) co_await keeper_.wait_ready(kReadyWithin);
}

}  // namespace kantha::noded
