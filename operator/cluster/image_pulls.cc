#include "operator/cluster/image_pulls.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/image_pull.h"

namespace kantha::cluster {
namespace {

/// Of a fleet's nodes so many pull at once: a registry serves them all.
constexpr std::size_t kPullsAtOnce = 32;

net::Task<void> begin_pull(Pass& pass, std::string node, std::string image) {
  const OrderedJson body =
      serving::render_image_pull(*pass.object, pass.tools.settings.pods, node, image);
  const Result<Json> made = co_await pass.tools.client.create(pass.key, kube::kPods,
                                                              pass.key.name_space, dump_json(body));
  if (made.ok()) {
    log_info("image is pulled",
             {{"object", pass.key.to_string()}, {"node", node}, {"image", image}});
  } else if (kube::fault_of(made.error()) != kube::ApiFault::kAlreadyExists) {
    pass.outcome.note(made.error(), "create a pod that pulls " + image + " on " + node);
  }
}

net::Task<void> end_pull(Pass& pass, serving::ImagePull pull) {
  kube::DeleteOptions options;
  options.uid = pull.uid;
  const Status done = co_await pass.tools.client.remove(pass.key, kube::kPods,
                                                        {pass.key.name_space, pull.pod}, options);
  if (!done.ok() && kube::fault_of(done.error()) != kube::ApiFault::kNotFound) {
    pass.outcome.note(done.error(), "delete pod " + pull.pod);
  }
}

}  // namespace

net::Task<void> pull_images(Pass& pass, const serving::ClusterObservation& seen,
                            const serving::ClusterPlan& plan) {
  const std::string& tag = serving::engine_image_of(pass.object->serving, pass.tools.settings.pods);
  const std::string& image = seen.rollout.image.empty() ? tag : seen.rollout.image;
  std::set<std::string> begun;  // nodes
  std::size_t under_way = 0;
  for (const serving::ImagePull& pull : seen.pulls) {
    const bool is_kept = plan.keep_pulled.contains(pull.node);
    const bool is_wanted = is_kept && (pull.image == tag || pull.image == image);
    if (is_wanted) begun.insert(pull.node);
    if (is_wanted && !pull.pulled) ++under_way;
    if (!is_wanted && !pull.terminating) co_await end_pull(pass, pull);
  }
  for (const std::string& node : plan.pull_on) {
    if (begun.contains(node)) continue;
    if (++under_way > kPullsAtOnce) break;
    co_await begin_pull(pass, node, image);
  }
}

}  // namespace kantha::cluster
