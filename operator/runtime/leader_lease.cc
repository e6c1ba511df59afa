#include "operator/runtime/leader_lease.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/log.h"
#include "operator/kube/api_fault.h"
#include "operator/runtime/watch_sink.h"

namespace kantha::runtime {

/// Kept alive by the coroutines that run.
struct LeaderLease::Body {
  Body(boost::asio::any_io_executor executor, const Clock& clock, kube::ApiClient& client,
       LeaseOptions options)
      : clock(clock),
        client(client),
        options(std::move(options)),
        wake(executor),
        changed(std::move(executor)) {
    state.identity = this->options.identity;
    state.times = this->options.times;
    state.seed = this->options.seed;
  }

  LeaseDeed decide(const LeaseInput& input);
  void announce();
  std::string body_of(LeaseRecord record) const;
  void fail(const Error& error);
  LeaseInput answer_of_write(const Result<Json>& answer);
  LeaseInput answer_of_read(const Result<Json>& answer);

  static net::Task<void> run(std::shared_ptr<Body> self, net::TaskGroup* tasks);
  static net::Task<LeaseInput> act(std::shared_ptr<Body> self, LeaseDeed deed);
  static net::Task<LeaseInput> wait(std::shared_ptr<Body> self, Duration span);
  static net::Task<void> watch_expiry(std::shared_ptr<Body> self);

  const Clock& clock;
  kube::ApiClient& client;
  LeaseOptions options;
  net::Notify wake;     ///< stop() was called
  net::Notify changed;  ///< the lead was won or lost, or the run has ended
  LeaseState state;
  Json lease;                ///< as read or written last
  std::string last_written;  ///< renewTime, so that no two writes are equal
  std::string logged;        ///< the failure that was logged last, while it lasts
  std::vector<std::function<void(bool)>> listeners;
  bool announced = false;
  bool is_stopping = false;
  bool is_stop_told = false;
  bool has_ended = false;
};

LeaseDeed LeaderLease::Body::decide(const LeaseInput& input) {
  LeaseStep step = lease_step(std::move(state), input, clock.now());
  state = std::move(step.state);
  announce();
  return std::move(step.deed);
}

void LeaderLease::Body::announce() {
  const bool leading = state.is_leading(clock.now());
  if (leading == announced) return;
  announced = leading;
  log_info(leading ? "leading" : "not leading",
           {{"lease", options.key.to_string()}, {"identity", options.identity}});
  changed.notify();
  for (const auto& listener : listeners) listener(leading);
}

/// The Lease as JSON. Its times are for people, but they differ from write to write, because the
/// API server does not count an equal write as a change, which is what contenders look for.
std::string LeaderLease::Body::body_of(LeaseRecord record) const {
  WallTime wall = clock.wall_now();
  record.renew_time = micro_time(wall);
  while (record.renew_time == last_written) {
    wall += std::chrono::microseconds(1);
    record.renew_time = micro_time(wall);
  }
  if (record.acquire_time.empty()) record.acquire_time = record.renew_time;
  return dump_json(lease_with_record(lease, options.key.name_space, options.key.name, record));
}

void LeaderLease::Body::fail(const Error& error) {
  std::string message = error.to_string();
  if (message == logged) return;
  log_warn("lease not reached", {{"lease", options.key.to_string()}, {"error", message}});
  logged = std::move(message);
}

LeaseInput LeaderLease::Body::answer_of_read(const Result<Json>& answer) {
  if (answer.ok()) {
    logged.clear();
    lease = *answer;
    return LeaseFound{lease_record_from_json(lease), version_of(lease)};
  }
  if (kube::fault_of(answer.error()) == kube::ApiFault::kNotFound) {
    lease = nullptr;
    return LeaseAbsent{};
  }
  fail(answer.error());
  return LeaseFailed{};
}

LeaseInput LeaderLease::Body::answer_of_write(const Result<Json>& answer) {
  if (answer.ok()) {
    logged.clear();
    lease = *answer;
    last_written = lease_record_from_json(lease).renew_time;
    return LeaseWritten{version_of(lease)};
  }
  switch (kube::fault_of(answer.error())) {
    case kube::ApiFault::kConflict:
    case kube::ApiFault::kAlreadyExists:
    case kube::ApiFault::kNotFound: return LeaseRefused{};
    default: break;
  }
  fail(answer.error());
  return LeaseFailed{};
}

net::Task<void> LeaderLease::Body::run(std::shared_ptr<Body> self, net::TaskGroup* tasks) {
  tasks->spawn(watch_expiry(self));
  LeaseDeed deed = self->decide(LeaseDue{});
  while (deed.kind != LeaseDeed::Kind::kEnd) {
    LeaseInput input = co_await act(self, std::move(deed));
    const bool must_stop = self->is_stopping && !self->is_stop_told;
    // Instead of what is due; but an answer counts first, for it may have made us the leader.
    self->is_stop_told = self->is_stopping;
    if (must_stop && std::holds_alternative<LeaseDue>(input)) {
      deed = self->decide(LeaseStop{});
      continue;
    }
    deed = self->decide(input);
    if (must_stop) deed = self->decide(LeaseStop{});
  }
  self->has_ended = true;
  self->changed.notify();
  co_await tasks->join();
}

net::Task<LeaseInput> LeaderLease::Body::act(std::shared_ptr<Body> self, LeaseDeed deed) {
  const kube::ObjectKey key = self->options.key;
  if (deed.kind == LeaseDeed::Kind::kLook) {
    const Result<Json> answer = co_await self->client.get(kube::kLeases, key);
    co_return self->answer_of_read(answer);
  }
  if (deed.kind == LeaseDeed::Kind::kWait) co_return co_await wait(self, deed.wait);
  if (deed.kind == LeaseDeed::Kind::kCreate) self->lease = nullptr;
  std::string body = self->body_of(std::move(deed.record));
  if (deed.kind == LeaseDeed::Kind::kCreate) {
    const Result<Json> answer =
        co_await self->client.create(kube::kLeases, key.name_space, std::move(body));
    co_return self->answer_of_write(answer);
  }
  const Result<Json> answer = co_await self->client.replace(kube::kLeases, key, std::move(body));
  co_return self->answer_of_write(answer);
}

net::Task<LeaseInput> LeaderLease::Body::wait(std::shared_ptr<Body> self, Duration span) {
  // stop() cuts a wait short; the pauses of giving back, after it, are kept.
  const bool is_cut = self->is_stopping && !self->is_stop_told;
  if (!is_cut && span > Duration::zero()) co_await self->wake.wait(span);
  co_return LeaseInput{LeaseDue{}};
}

net::Task<void> LeaderLease::Body::watch_expiry(std::shared_ptr<Body> self) {
  constexpr Duration kForLong = std::chrono::hours(1);
  while (!self->has_ended) {
    Duration span = kForLong;
    if (self->announced && self->state.leading_until) {
      span = std::max<Duration>(*self->state.leading_until - self->clock.now(),
                                std::chrono::milliseconds(1));
    }
    co_await self->changed.wait(span);
    self->announce();
  }
}

LeaderLease::LeaderLease(boost::asio::any_io_executor executor, const Clock& clock,
                         kube::ApiClient& client, LeaseOptions options)
    : body_(std::make_shared<Body>(executor, clock, client, std::move(options))),
      tasks_(std::make_unique<net::TaskGroup>(executor, "lease")) {}

LeaderLease::~LeaderLease() { stop(); }

bool LeaderLease::is_leading() const { return body_->state.is_leading(body_->clock.now()); }

void LeaderLease::on_change(std::function<void(bool leading)> listener) {
  body_->listeners.push_back(std::move(listener));
}

std::string LeaderLease::holder() const { return body_->state.record.holder; }
const std::string& LeaderLease::identity() const { return body_->options.identity; }

net::Task<void> LeaderLease::run() { return Body::run(body_, tasks_.get()); }

void LeaderLease::stop() {
  body_->is_stopping = true;
  body_->wake.notify();
}

}  // namespace kantha::runtime
