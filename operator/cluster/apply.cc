#include "operator/cluster/apply.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/cluster/child_writer.h"
#include "operator/cluster/finalizer.h"
#include "operator/cluster/gather.h"
#include "operator/cluster/image_pulls.h"
#include "operator/cluster/pod_deeds.h"
#include "operator/cluster/reference_check.h"
#include "operator/cluster/scaling.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/children.h"
#include "operator/serving/last_status.h"
#include "operator/serving/render_hpa.h"
#include "operator/serving/render_pdb.h"
#include "operator/serving/render_revision_config_map.h"
#include "operator/serving/render_service.h"
#include "operator/serving/render_service_account.h"

namespace kantha::cluster {
namespace {

constexpr std::size_t kRevisionsKept = 5;

ChildDocument document(kube::Resource resource, OrderedJson body) {
  std::string name = body["metadata"]["name"].get<std::string>();
  return {resource, std::move(name), std::move(body)};
}

/// Children that pods need, or that shall guard them from their first moment.
std::vector<ChildDocument> documents_before_pods(const Pass& pass,
                                                 const serving::Revision& target) {
  const serving::ClusterServing& owner = *pass.object;
  std::vector<ChildDocument> out;
  out.push_back(document(kube::kServiceAccounts, serving::render_service_account(owner)));
  out.push_back(document(kube::kConfigMaps, serving::render_revision_config_map(
                                                owner, pass.tools.settings.pods, target)));
  out.push_back(document(kube::kPodDisruptionBudgets, serving::render_pdb(owner)));
  return out;
}

/// Children that nobody misses until a pod is ready. An API server gives out cluster addresses one
/// after another, some fifty a second at best: a pod starts meanwhile.
std::vector<ChildDocument> documents_after_pods(const Pass& pass) {
  const serving::ClusterServing& owner = *pass.object;
  std::vector<ChildDocument> out;
  out.push_back(document(kube::kServices, serving::render_headless_service(owner)));
  out.push_back(document(kube::kServices, serving::render_service(owner)));
  if (wants_hpa(pass)) out.push_back(document(kAutoscalers, serving::render_hpa(owner)));
  return out;
}

/// Of a child all that is_same_content looks at.
std::string content_version(const ChildObject& child) {
  return "/" + child.meta.uid + (child.meta.is_deleting() ? "-" : "@") + child.owner_uid + "=" +
         std::to_string(child.digest);
}

/// The same of the HPA, where one is wanted.
std::string autoscaler_version(const Pass& pass) {
  if (!wants_hpa(pass)) return "/no HPA";
  const auto hpa = pass.scope.autoscalers.find(
      {pass.key.name_space, serving::hpa_name(pass.object->serving.metadata.name)});
  return hpa == nullptr ? "/missing" : content_version(*hpa);
}

/// What the children as documents, and as they are, depend on; 0 while one is missing.
/// Rendering and comparing is the most of an idle pass, and this is enough to know that it would
/// find nothing.
std::size_t children_version(const Pass& pass, const serving::Revision& target) {
  const std::string& name = pass.object->serving.metadata.name;
  const std::string& space = pass.key.name_space;
  const Scope& scope = pass.scope;
  std::string out = std::to_string(pass.object->meta.generation);
  for (const auto& child :
       {scope.accounts.find({space, serving::service_account_name(name)}),
        scope.config_maps.find({space, serving::revision_config_map_name(name, target.whole)}),
        scope.services.find({space, serving::headless_service_name(name)}),
        scope.services.find({space, serving::service_name(name)}),
        scope.budgets.find({space, serving::disruption_budget_name(name)})}) {
    if (child == nullptr) return 0;
    out += content_version(*child);
  }
  return std::hash<std::string>{}(out + autoscaler_version(pass));
}

/// One look at all of an object's children, in two halves.
struct ChildrenCheck {
  std::size_t version = 0;  ///< as children_version
  bool is_needed = true;    ///< something changed since all were well
  bool all_well = true;     ///< so far nothing was written, and nothing went wrong
};

net::Task<void> write_children(Pass& pass, std::vector<ChildDocument> documents,
                               ChildrenCheck& check) {
  Outcome before = std::exchange(pass.outcome, {});
  for (ChildDocument& child : documents) co_await write_child(pass, std::move(child));
  check.all_well = check.all_well && !pass.outcome.wrote_child && !pass.outcome.error &&
                   pass.outcome.troubles.empty() && !pass.outcome.again;
  pass.outcome.merge(std::move(before));
}

/// Names of the ConfigMaps that something still refers to.
std::set<std::string> revisions_in_use(const Pass& pass, const serving::ClusterObservation& seen) {
  const serving::Revision& target = seen.observed.target;
  const std::string& name = pass.object->serving.metadata.name;
  std::set<std::string> out = {serving::revision_config_map_name(name, target.whole)};
  for (const auto& stored : pods_of(pass.scope, *pass.object)) {
    for (const std::string* digest : {&stored->pod.told_revision, &stored->pod.born_revision}) {
      if (!digest->empty()) out.insert(serving::revision_config_map_name(name, *digest));
    }
  }
  const serving::LastStatus last = serving::last_status_of(seen.last_status);
  for (const std::string* revision : {&last.current_revision, &last.target_revision}) {
    if (!revision->empty()) out.insert(name + "-" + *revision);
  }
  return out;
}

/// Says what can't be seen any more; what was seen before is worked with as it was.
void note_stale_kinds(Pass& pass) {
  for (const kube::Resource* kind : pass.scope.stale_kinds()) {
    const std::string plural(kind->plural);
    const std::optional<Error> trouble = pass.scope.trouble_of(plural);
    pass.outcome.add(
        {"Forbidden", "watch " + plural + ": " + (trouble ? trouble->message : "refused")});
  }
}

}  // namespace

net::Task<void> prune_revisions(Pass& pass, const serving::ClusterObservation& seen) {
  std::vector<std::shared_ptr<const ChildObject>> maps = pass.scope.config_maps.indexed(pass.uid());
  if (maps.size() <= kRevisionsKept || !pass.scope.config_maps.is_synced()) co_return;
  const std::set<std::string> used = revisions_in_use(pass, seen);
  const std::string prefix = pass.object->serving.metadata.name + "-r-";
  std::erase_if(maps, [&](const auto& map) {
    return map->meta.is_deleting() || !map->meta.key.name.starts_with(prefix);
  });
  std::sort(maps.begin(), maps.end(), [](const auto& a, const auto& b) {
    return std::tie(a->created, a->meta.key.name) > std::tie(b->created, b->meta.key.name);
  });
  for (std::size_t i = kRevisionsKept; i < maps.size(); ++i) {
    if (used.contains(maps[i]->meta.key.name)) continue;
    kube::DeleteOptions options;
    options.uid = maps[i]->meta.uid;
    const Status done =
        co_await pass.tools.client.remove(pass.key, kube::kConfigMaps, maps[i]->meta.key, options);
    if (!done.ok() && kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
      pass.outcome.note(done.error(), "delete ConfigMap " + maps[i]->meta.key.to_string());
    }
  }
}

net::Task<void> apply(Pass& pass, const serving::ClusterObservation& seen,
                      const serving::ClusterPlan& plan) {
  note_stale_kinds(pass);
  if (!seen.hold_reason.empty()) co_return;  // the spec says nothing that could be carried out
  const bool is_guarded = co_await ensure_finalizer(pass);
  if (!is_guarded) co_return;
  ChildrenCheck check{.version = children_version(pass, seen.observed.target)};
  check.is_needed = check.version == 0 || check.version != pass.memory.children_checked;
  if (check.is_needed) {
    co_await write_children(pass, documents_before_pods(pass, seen.observed.target), check);
  }
  co_await adopt_pods(pass, seen);
  co_await pull_images(pass, seen, plan);
  const bool may_replace = co_await check_references(pass, seen);
  co_await do_pod_deeds(
      pass, seen, may_replace ? plan.plan.actions : without_replacements(seen, plan.plan.actions));
  co_await confirm_pods(pass, seen);
  co_await release_pods(pass, seen);
  if (check.is_needed) {
    co_await write_children(pass, documents_after_pods(pass), check);
    pass.memory.children_checked = check.all_well ? check.version : 0;
  }
  co_await remove_own_hpa(pass);
  co_await prune_revisions(pass, seen);
}

}  // namespace kantha::cluster
