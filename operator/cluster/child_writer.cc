#include "operator/cluster/child_writer.h"

#include <functional>
#include <utility>

#include "base/json_text.h"
#include "base/log.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/child_reset.h"
#include "operator/serving/children.h"
#include "operator/serving/covers.h"

namespace kantha::cluster {
namespace {

constexpr Duration kFightPause = std::chrono::minutes(1);
constexpr Duration kLeavingAgain = std::chrono::seconds(2);

std::string name_of(const ChildDocument& document, const kube::ObjectKey& owner) {
  return std::string(document.resource.kind) + " " + owner.name_space + "/" + document.name;
}

/// Never 0.
std::size_t digest_of(const ChildDocument& document) {
  return std::hash<std::string>{}(dump_json(document.body)) | 1;
}

kube::PatchOptions forced_apply() {
  kube::PatchOptions options;
  options.field_manager = serving::kFieldManager;
  options.force = true;
  return options;
}

/// True when the same repair was made within the last minute: somebody undoes it.
bool is_fought_over(Pass& pass, const std::string& child, std::size_t digest) {
  const TimePoint now = pass.tools.clock.now();
  const auto last = pass.memory.repairs.find(child);
  if (last == pass.memory.repairs.end() || last->second.digest != digest) return false;
  const Duration since = now - last->second.at;
  if (since >= kFightPause) return false;
  pass.outcome.look_again(kFightPause - since);
  return true;
}

bool is_as_wanted(const Json& live, const OrderedJson& wanted) {
  return serving::covers(live, wanted) && !serving::must_be_remade(live, wanted);
}

net::Task<Result<Json>> apply_child(Pass& pass, ChildDocument document, std::string live_uid) {
  // With its uid an apply cannot make anew what was deleted meanwhile.
  document.body["metadata"]["uid"] = std::move(live_uid);
  const kube::ObjectKey key{pass.key.name_space, document.name};
  co_return co_await pass.tools.client.patch(pass.key, document.resource, key,
                                             dump_json(document.body), forced_apply(),
                                             kube::Content::kWhole);
}

/// Deletes ours so that the next pass makes it anew; only where nothing else heals.
net::Task<bool> remake_child(Pass& pass, ChildDocument document, kube::ObjectMeta live) {
  const std::string what = name_of(document, pass.key);
  kube::DeleteOptions options;
  options.uid = live.uid;
  options.resource_version = live.resource_version;
  const Status done =
      co_await pass.tools.client.remove(pass.key, document.resource, live.key, options);
  if (done.ok()) {
    log_warn("child deleted, to be made anew: no edit leads to what it must be", {{"child", what}});
    pass.outcome.look_again(kLeavingAgain);
  } else if (kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
    pass.outcome.note(done.error(), "delete " + what);
  }
  co_return done.ok();
}

/// Writes the whole spec of a child, and then owner and labels where they are missing, too.
net::Task<Result<Json>> write_whole(Pass& pass, ChildDocument document, Json live) {
  const kube::ObjectKey key{pass.key.name_space, document.name};
  kube::PatchOptions options;
  options.kind = kube::PatchKind::kJson;
  Result<Json> done = co_await pass.tools.client.patch(
      pass.key, document.resource, key, dump_json(serving::render_child_reset(live, document.body)),
      options, kube::Content::kWhole);
  if (!done.ok() || serving::covers(*done, document.body)) co_return done;
  std::string uid = live["metadata"]["uid"];
  co_return co_await apply_child(pass, std::move(document), std::move(uid));
}

/// Brings back a child of ours that an apply does not mend. True: something was written.
net::Task<bool> reset_child(Pass& pass, ChildDocument document, std::string live_uid) {
  const std::string what = name_of(document, pass.key);
  const kube::ObjectKey key{pass.key.name_space, document.name};
  const Result<Json> live = co_await pass.tools.client.get(document.resource, key);
  if (!live.ok()) {
    pass.outcome.note(live.error(), "read " + what);
    co_return false;
  }
  const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(*live);
  const Holder holder = holder_of(*live, *pass.object);
  const bool is_ours = holder == Holder::kOurs || holder == Holder::kAdoptable;
  if (!meta.ok() || !is_ours || meta->uid != live_uid) {
    pass.outcome.look_again(kLeavingAgain);
    co_return false;
  }
  if (holder == Holder::kOurs && serving::must_be_remade(*live, document.body)) {
    co_return co_await remake_child(pass, std::move(document), *meta);
  }
  const Result<Json> done = co_await write_whole(pass, std::move(document), *live);
  if (done.ok()) {
    log_info("child reset", {{"child", what}});
  } else {
    pass.outcome.note(done.error(), "reset " + what);
  }
  co_return done.ok();
}

/// Applies, and resets where that is not enough. True: something was written.
net::Task<bool> mend(Pass& pass, ChildDocument document, std::string live_uid) {
  const Result<Json> done = co_await apply_child(pass, document, live_uid);
  if (done.ok() && is_as_wanted(*done, document.body)) co_return true;
  const bool may_be_in_the_way =
      done.ok() || kube::fault_of(done.error()) == kube::ApiFault::kInvalid;
  if (may_be_in_the_way && document.body.contains("spec")) {
    co_return co_await reset_child(pass, std::move(document), std::move(live_uid));
  }
  if (!done.ok()) pass.outcome.note(done.error(), "apply " + name_of(document, pass.key));
  co_return done.ok();
}

net::Task<void> repair(Pass& pass, ChildDocument document, std::string live_uid) {
  const std::string child = std::string(document.resource.plural) + "/" + document.name;
  const std::size_t digest = digest_of(document);
  if (is_fought_over(pass, child, digest)) {
    pass.outcome.add(
        {"FieldConflict", name_of(document, pass.key) +
                              ": another writer changes fields that belong to this operator"});
    co_return;
  }
  pass.outcome.wrote_child = true;
  const bool is_written = co_await mend(pass, std::move(document), std::move(live_uid));
  if (is_written) pass.memory.repairs[child] = {digest, pass.tools.clock.now()};
}

net::Task<void> create_child(Pass& pass, ChildDocument document) {
  pass.outcome.wrote_child = true;
  const Result<Json> made = co_await pass.tools.client.create(
      pass.key, document.resource, pass.key.name_space, dump_json(document.body));
  if (made.ok()) co_return;
  if (kube::fault_of(made.error()) == kube::ApiFault::kAlreadyExists) {
    co_await judge_holder(pass, std::move(document));
  } else {
    pass.outcome.note(made.error(), "create " + name_of(document, pass.key));
  }
}

/// Notes that a child is as a document says. Its text has served: there are tens of thousands.
void settle_child(runtime::Store<ChildObject>& store,
                  const std::shared_ptr<const ChildObject>& child, std::size_t document) {
  store.amend(child, [&](ChildObject& kept) {
    kept.as_wanted = document;
    kept.text = {};
  });
}

/// A child of ours that is there: compares it, unless the same was compared before.
net::Task<void> check_child(Pass& pass, ChildDocument document, runtime::Store<ChildObject>& store,
                            std::shared_ptr<const ChildObject> held) {
  const std::size_t wanted = digest_of(document);
  if (held->digest == 0 || held->as_wanted == wanted) co_return;
  Json live = held->json();
  if (held->text.empty()) {
    Result<Json> read = co_await pass.tools.client.get(document.resource, held->meta.key);
    if (!read.ok()) {
      if (kube::fault_of(read.error()) == kube::ApiFault::kNotFound) {
        pass.outcome.look_again(kLeavingAgain);
      } else {
        pass.outcome.note(read.error(), "read " + name_of(document, pass.key));
      }
      co_return;
    }
    live = std::move(read).value();
    if (text_at(live, "metadata", "uid") != held->meta.uid) {
      pass.outcome.look_again(kLeavingAgain);
      co_return;
    }
  }
  if (is_as_wanted(live, document.body)) {
    settle_child(store, held, wanted);
  } else {
    co_await repair(pass, std::move(document), held->meta.uid);
  }
}

}  // namespace

Holder holder_of(const Json& live, const serving::ClusterServing& owner) {
  const Result<kube::ObjectMeta> meta = kube::object_meta_from_json(live);
  if (!meta.ok()) return Holder::kForeign;
  const kube::OwnerReference* controller = meta->controller();
  const std::string& name = owner.serving.metadata.name;
  if (controller != nullptr && controller->uid == owner.meta.uid) {
    return meta->is_deleting() ? Holder::kLeaving : Holder::kOurs;
  }
  if (controller != nullptr) {
    const bool earlier = controller->kind == serving::kKind && controller->name == name &&
                         controller->api_version.starts_with(serving::kGroup);
    return earlier ? Holder::kPredecessor : Holder::kForeign;
  }
  const auto label = meta->labels.find(serving::kLabelName);
  if (label == meta->labels.end() || label->second != name) return Holder::kForeign;
  return meta->is_deleting() ? Holder::kLeaving : Holder::kAdoptable;
}

net::Task<void> judge_holder(Pass& pass, ChildDocument document) {
  const std::string what = name_of(document, pass.key);
  const kube::ObjectKey key{pass.key.name_space, document.name};
  const Result<Json> live = co_await pass.tools.client.get(document.resource, key);
  if (!live.ok()) {
    if (kube::fault_of(live.error()) == kube::ApiFault::kNotFound) {
      pass.outcome.look_again(kLeavingAgain);
    } else {
      pass.outcome.note(live.error(), "read " + what);
    }
    co_return;
  }
  const Holder holder = holder_of(*live, *pass.object);
  switch (holder) {
    case Holder::kOurs:
    case Holder::kAdoptable:
      if (is_as_wanted(*live, document.body)) {
        pass.outcome.look_again(kLeavingAgain);  // the store is behind
      } else {
        co_await repair(pass, std::move(document), live->at("metadata").value("uid", ""));
      }
      co_return;
    case Holder::kLeaving:
    case Holder::kPredecessor: pass.outcome.look_again(kLeavingAgain); co_return;
    case Holder::kForeign:
      pass.outcome.add(
          {"NameConflict", what + " exists and does not belong to this ModelServing; rename or "
                                  "delete one of them"});
      pass.outcome.look_again(std::chrono::seconds(30));
  }
}

net::Task<void> adopt_child(Pass& pass, kube::Resource resource, std::string name,
                            std::string live_uid) {
  ChildDocument document{resource, name, {}};
  document.body["apiVersion"] = resource.api_version();
  document.body["kind"] = resource.kind;
  document.body["metadata"] = serving::child_metadata(*pass.object, name);
  co_await repair(pass, std::move(document), std::move(live_uid));
}

net::Task<void> write_child(Pass& pass, ChildDocument document) {
  runtime::Store<ChildObject>* store = pass.scope.children_of(document.resource.plural);
  if (store == nullptr || !store->is_synced()) {
    const std::optional<Error> trouble = pass.scope.trouble_of(document.resource.plural);
    const Error reason = trouble.value_or(unavailable("not read yet"));
    pass.outcome.note(reason, "watch " + std::string(document.resource.plural));
    co_return;
  }
  const auto held = store->find({pass.key.name_space, document.name});
  if (held == nullptr) {
    co_await create_child(pass, std::move(document));
  } else if (held->owner_uid != pass.uid()) {
    co_await judge_holder(pass, std::move(document));
  } else if (held->meta.is_deleting()) {
    pass.outcome.look_again(kLeavingAgain);
  } else {
    co_await check_child(pass, std::move(document), *store, held);
  }
}

}  // namespace kantha::cluster
