#include "noded/gateway/door_metrics.h"

#include "base/net/http.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kTenantsNamed = 50;

const std::vector<double> kTotalBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1,  2.5,
                                          5,     10,    30,   60,   120, 300, 600};
const std::vector<double> kFirstByteBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                              0.5,   1,      2.5,   5,    10,    30,   60};
const std::vector<double> kHeldBounds = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// A client that left before there was a status counts as 499, as at the engine.
std::string code_label(int status) {
  constexpr int kLeft = 499;
  if (status == 0) return std::to_string(kLeft);
  return net::reason_phrase(status) == "Unknown" ? "other" : std::to_string(status);
}

}  // namespace

DoorMetrics::DoorMetrics(MetricRegistry& registry, std::string pod)
    : registry_(registry),
      pod_(std::move(pod)),
      total_(registry.histogram("kantha_noded_request_seconds", "Arrival to the answer's end",
                                {{"pod", pod_}}, kTotalBounds)),
      first_byte_(registry.histogram("kantha_noded_first_byte_seconds",
                                     "Arrival to the answer's first byte", {{"pod", pod_}},
                                     kFirstByteBounds)),
      held_(registry.histogram("kantha_noded_held_seconds",
                               "Time that requests waited for an engine", {{"pod", pod_}},
                               kHeldBounds)) {
  for (int i = 1; i < kDoorRefusals; ++i) {
    refusals_[static_cast<std::size_t>(i)] = &registry_.counter(
        "kantha_noded_refusals_total", "Requests that the door refused",
        {{"pod", pod_}, {"reason", door_refusal_name(static_cast<DoorRefusal>(i))}});
  }
  constexpr int kOk = 200;
  answers("", kOk);
  used("", {});
}

void DoorMetrics::refused(DoorRefusal refusal) {
  if (refusal != DoorRefusal::kNone) refusals_[static_cast<std::size_t>(refusal)]->add();
}

std::string DoorMetrics::tenant_label(const std::string& tenant) {
  if (tenant.empty()) return "none";
  const auto known = labels_.find(tenant);
  if (known != labels_.end()) return known->second;
  if (labels_.size() >= kTenantsNamed) return "other";
  return labels_.emplace(tenant, tenant).first->second;
}

Counter& DoorMetrics::answers(const std::string& tenant, int status) {
  const std::string label = tenant_label(tenant);
  Counter*& slot = answers_[{label, status}];
  if (slot == nullptr) {
    slot = &registry_.counter("kantha_noded_answers_total", "Requests answered, probes left out",
                              {{"pod", pod_}, {"tenant", label}, {"code", code_label(status)}});
  }
  return *slot;
}

void DoorMetrics::used(const std::string& tenant, const ForwardOutcome& outcome) {
  const std::string label = tenant_label(tenant);
  auto& slots = tokens_[label];
  constexpr std::array<const char*, 2> kKinds = {"prompt", "output"};
  const std::array<std::int64_t, 2> counts = {outcome.prompt_tokens.value_or(0),
                                              outcome.completion_tokens.value_or(0)};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (slots[i] == nullptr) {
      slots[i] = &registry_.counter("kantha_noded_tokens_total", "Tokens that tenants used",
                                    {{"pod", pod_}, {"tenant", label}, {"kind", kKinds[i]}});
    }
    slots[i]->add(static_cast<double>(counts[i]));
  }
}

void DoorMetrics::answered(const std::string& tenant, const ForwardOutcome& outcome) {
  answers(tenant, outcome.status).add();
  used(tenant, outcome);
  total_.observe(seconds_of(outcome.total));
  if (outcome.first_byte) first_byte_.observe(seconds_of(*outcome.first_byte));
  if (outcome.held > Duration{}) held_.observe(seconds_of(outcome.held));
}

}  // namespace kantha::noded
