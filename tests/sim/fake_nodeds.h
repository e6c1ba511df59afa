#pragma once

#include <cstdint>
#include <functional>

#include "operator/cluster/pod_door.h"
#include "tests/sim/fake_kubelets.h"

/// The nodeds of the fake cluster's pods as the operator reaches them, well-behaved or not. One
/// executor; works on virtual time.
namespace kantha::sim {

enum class DoorFault : unsigned char {
  kNone,
  kSlow,     ///< answers after the operator has given up
  kError,    ///< 500
  kGarbage,  ///< an answer that is no state
  kLazy,     ///< says yes to a push and does nothing
};

class FakeNodeds final : public cluster::PodDoor {
 public:
  explicit FakeNodeds(FakeKubelets& kubelets) : kubelets_(kubelets) {}

  net::Task<Result<noded::PodState>> state(cluster::PodAddress pod) override;
  net::Task<Status> push_config(cluster::PodAddress pod, std::string config) override;

  /// Decides for the call number `index`.
  void set_faults(std::function<DoorFault(std::uint64_t index)> rule) { rule_ = std::move(rule); }
  std::uint64_t call_count() const { return calls_; }
  std::uint64_t push_count() const { return pushes_; }

 private:
  FakeKubelets& kubelets_;
  std::function<DoorFault(std::uint64_t)> rule_;
  std::uint64_t calls_ = 0;
  std::uint64_t pushes_ = 0;
};

}  // namespace kantha::sim
