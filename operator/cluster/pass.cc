#include "operator/cluster/pass.h"

#include "operator/kube/api_fault.h"

namespace kantha::cluster {
namespace {

constexpr Duration kRefusedAgain = std::chrono::seconds(30);

/// Admission's word for a class that is not there, which no role could mend.
std::string forbidden_reason(const Error& failure) {
  const bool is_class = failure.message.find("no PriorityClass with name") != std::string::npos;
  return is_class ? "PriorityClassNotFound" : "Forbidden";
}

}  // namespace

void Outcome::merge(Outcome other) {
  for (serving::Trouble& trouble : other.troubles) add(std::move(trouble));
  if (other.again) look_again(*other.again);
  if (!error) error = std::move(other.error);
  made_pods = made_pods || other.made_pods;
  wrote_child = wrote_child || other.wrote_child;
}

void Outcome::add(serving::Trouble trouble) {
  if (std::find(troubles.begin(), troubles.end(), trouble) == troubles.end()) {
    troubles.push_back(std::move(trouble));
  }
}

void Outcome::note(const Error& failure, const std::string& what) {
  if (failure.reason == kNotLeading) return;
  switch (kube::fault_of(failure)) {
    case kube::ApiFault::kForbidden:
      add({forbidden_reason(failure), what + ": " + failure.message});
      return look_again(kRefusedAgain);
    case kube::ApiFault::kInvalid:
      add({"Refused", what + ": " + failure.message});
      return look_again(kRefusedAgain);
    case kube::ApiFault::kTerminating:
      add({"NamespaceTerminating", "the namespace is being deleted"});
      return look_again(kRefusedAgain);
    default:
      if (!error) error = Error(failure).with_context(what);
  }
}

bool Pass::is_as_planned(const kube::ObjectMeta& live) const {
  const auto known = planned.find(live.key.name);
  return known != planned.end() && known->second == live.resource_version;
}

}  // namespace kantha::cluster
