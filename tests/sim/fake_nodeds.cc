#include "tests/sim/fake_nodeds.h"

#include <optional>

namespace kantha::sim {
namespace {

constexpr Duration kAnswer = std::chrono::milliseconds(2);
constexpr Duration kPatience = std::chrono::seconds(2);  ///< of the operator's door

std::optional<Error> failure_of(DoorFault fault) {
  switch (fault) {
    case DoorFault::kSlow: return Error{Code::kDeadlineExceeded, "no answer within 2 s"};
    case DoorFault::kError: return unavailable("noded answered 500");
    case DoorFault::kGarbage: return data_loss("noded's answer is no state");
    default: return std::nullopt;
  }
}

}  // namespace

net::Task<Result<noded::PodState>> FakeNodeds::state(cluster::PodAddress pod) {
  const DoorFault fault = rule_ ? rule_(calls_) : DoorFault::kNone;
  ++calls_;
  co_await net::sleep_for(fault == DoorFault::kSlow ? kPatience : kAnswer);
  if (auto failure = failure_of(fault)) co_return *failure;
  const FakePod* reached = kubelets_.reach(pod.ip);
  if (reached == nullptr) co_return unavailable("connection refused");
  co_return kubelets_.state_of(*reached);
}

net::Task<Status> FakeNodeds::push_config(cluster::PodAddress pod, std::string config) {
  const DoorFault fault = rule_ ? rule_(calls_) : DoorFault::kNone;
  ++calls_;
  ++pushes_;
  co_await net::sleep_for(fault == DoorFault::kSlow ? kPatience : kAnswer);
  if (auto failure = failure_of(fault)) co_return *failure;
  const FakePod* reached = kubelets_.reach(pod.ip);
  if (reached == nullptr) co_return unavailable("connection refused");
  if (fault != DoorFault::kLazy) kubelets_.push_config(reached->uid, config);
  co_return ok_status();
}

}  // namespace kantha::sim
