#include "operator/cluster/secret_writer.h"

#include <string>

#include "operator/cluster/admin_secret.h"
#include "operator/cluster/child_writer.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/render_admin_secret.h"

namespace kantha::cluster {
namespace {

constexpr Duration kBelievedFor = std::chrono::minutes(1);
constexpr Duration kSoon = std::chrono::seconds(2);

/// Somebody has the name: is the Secret ours?
net::Task<bool> check_existing(Pass& pass, kube::ObjectKey key) {
  const Result<Json> live = co_await pass.tools.client.get(kube::kSecrets, key);
  if (!live.ok()) {
    pass.outcome.note(live.error(), "read Secret " + key.to_string());
    co_return false;
  }
  switch (holder_of(*live, *pass.object)) {
    case Holder::kOurs: break;
    case Holder::kAdoptable:
      co_await adopt_child(pass, kube::kSecrets, key.name, live->at("metadata").value("uid", ""));
      break;
    case Holder::kLeaving:
    case Holder::kPredecessor: pass.outcome.look_again(kSoon); co_return false;
    case Holder::kForeign:
      pass.outcome.add(
          {"NameConflict", "Secret " + key.to_string() +
                               " exists and does not belong to this ModelServing; rename or "
                               "delete one of them"});
      pass.outcome.look_again(std::chrono::seconds(30));
      co_return false;
  }
  co_return true;
}

}  // namespace

net::Task<bool> ensure_admin_secret(Pass& pass) {
  const TimePoint now = pass.tools.clock.now();
  if (pass.memory.secret_checked && now - *pass.memory.secret_checked < kBelievedFor) {
    co_return true;
  }
  const std::string& name = pass.object->serving.metadata.name;
  const kube::ObjectKey key{pass.key.name_space, serving::admin_secret_name(name)};
  const OrderedJson body = serving::render_admin_secret(*pass.object, random_token());
  const Result<Json> made = co_await pass.tools.client.create(pass.key, kube::kSecrets,
                                                              pass.key.name_space, dump_json(body));
  bool there = made.ok();
  if (!there && kube::fault_of(made.error()) == kube::ApiFault::kAlreadyExists) {
    there = co_await check_existing(pass, key);
  } else if (!there) {
    pass.outcome.note(made.error(), "create Secret " + key.to_string());
  }
  if (there) pass.memory.secret_checked = now;
  co_return there;
}

}  // namespace kantha::cluster
