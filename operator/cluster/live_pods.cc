#include "operator/cluster/live_pods.h"

#include <string>
#include <utility>

#include "operator/serving/children.h"

namespace kantha::cluster {

net::Task<std::optional<std::vector<Json>>> live_pods(Pass& pass) {
  kube::ListOptions options;
  options.label_selector =
      std::string(serving::kLabelName) + "=" + pass.object->serving.metadata.name;
  std::vector<Json> out;
  do {
    Result<kube::ObjectPage> page =
        co_await pass.tools.client.list(kube::kPods, pass.key.name_space, options);
    if (!page.ok()) {
      pass.outcome.note(page.error(), "list pods");
      co_return std::nullopt;
    }
    for (Json& pod : page->items) out.push_back(std::move(pod));
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  co_return out;
}

}  // namespace kantha::cluster
