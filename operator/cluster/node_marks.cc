#include "operator/cluster/node_marks.h"

#include <utility>

#include "base/log.h"
#include "base/net/task_group.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/node_marks.h"

namespace kantha::cluster {
namespace {

constexpr Duration kSeenFor = std::chrono::seconds(5);
constexpr Duration kAskAgain = std::chrono::minutes(5);
constexpr std::size_t kNodesMax = 64;
constexpr std::size_t kAskedAtOnce = 16;

}  // namespace

void NodeMarks::note_failure(const std::string& node, const Error& failure) {
  if (kube::fault_of(failure) != kube::ApiFault::kForbidden) {
    log_debug("node not read", {{"node", node}, {"error", failure.to_string()}});
    return;
  }
  refused_at_ = clock_.now();
  if (std::exchange(told_, true)) return;
  log_warn(
      "may not read nodes: pods on nodes that are marked for removal are not preferred when "
      "some have to go",
      {{"error", failure.to_string()}});
}

net::Task<void> NodeMarks::look(std::string node) {
  const Result<Json> live = co_await client_.get(kNodes, {"", node});
  if (!live.ok()) {
    note_failure(node, live.error());
    co_return;
  }
  refused_at_.reset();
  seen_[node] = {serving::is_marked_for_removal(*live), clock_.now()};
}

net::Task<std::set<std::string>> NodeMarks::marked(std::set<std::string> nodes) {
  const TimePoint now = clock_.now();
  std::erase_if(seen_, [&](const auto& entry) { return now - entry.second.at >= kSeenFor; });
  const bool is_refused = refused_at_ && now - *refused_at_ < kAskAgain;
  const auto executor = co_await boost::asio::this_coro::executor;
  net::TaskGroup group(executor, "nodes");
  std::size_t asked = 0;
  for (const std::string& node : nodes) {
    if (is_refused || seen_.contains(node)) continue;
    if (asked++ == kNodesMax) break;
    group.spawn(look(node));
    if (group.running() >= kAskedAtOnce) co_await group.join();
  }
  co_await group.join();
  std::erase_if(nodes, [&](const std::string& node) {
    const auto found = seen_.find(node);
    return found == seen_.end() || !found->second.is_marked;
  });
  co_return nodes;
}

}  // namespace kantha::cluster
