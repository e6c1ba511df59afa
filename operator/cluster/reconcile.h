#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/runtime/controller.h"

/// One key → one pass: gather → plan → apply → report. One executor.
///
/// Looks at what is there and nothing else; a crash between any two writes is harmless, because the
/// next pass starts at gather. A key whose own last writes the stores have not seen yet waits.
namespace kantha::cluster {

class Reconciler {
 public:
  /// `seed` spreads the slow resync over time.
  Reconciler(Tools tools, std::uint64_t seed) : tools_(tools), seed_(seed) {}

  net::Task<Result<runtime::Requeue>> reconcile(kube::ObjectKey key);
  /// Objects that something is remembered of.
  std::size_t memory_count() const { return memory_.size(); }

 private:
  ObjectMemory& memory_of(const kube::ObjectKey& key, const std::string& uid);
  net::Task<Result<runtime::Requeue>> run_pass(Pass& pass);
  Duration resync_of(const kube::ObjectKey& key) const;

  Tools tools_;
  std::uint64_t seed_;
  std::unordered_map<kube::ObjectKey, ObjectMemory> memory_;
};

}  // namespace kantha::cluster
