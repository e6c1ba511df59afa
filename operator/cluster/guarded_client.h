#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/metrics.h"
#include "operator/kube/api_client.h"
#include "operator/runtime/write_gate.h"

/// The one way in which the operator writes. One executor.
///
/// Each write asks first whether this process still leads, is counted in
/// kantha_operator_writes_total{resource, verb}, and is noted in the gate, so that its owner is not
/// planned again before the stores have seen it.
namespace kantha::cluster {

/// Error::reason of a write that was not made because this process does not lead any more.
inline constexpr const char* kNotLeading = "NotLeading";

/// An object as a store holds it now.
struct HeldVersion {
  std::string uid;
  std::string resource_version;
  bool is_deleting = false;
};

class GuardedClient {
 public:
  /// What a store holds of an object; nullopt: no such object, or nobody watches that kind.
  using Held = std::function<std::optional<HeldVersion>(std::string_view plural,
                                                        const kube::ObjectKey& object)>;
  /// `will_show`: a store will see what was written (`answer`, nullptr after a delete); all else is
  /// not waited for.
  struct Seams {
    std::function<bool()> is_leading;
    std::function<runtime::WriteGate*(const std::string& name_space)> gate;
    Held held;
    std::function<bool(std::string_view plural, const std::string& name_space, const Json* answer)>
        will_show;
  };

  GuardedClient(const Clock& clock, kube::ApiClient& client, MetricRegistry& metrics, Seams seams);

  /// Whether a write would be tried now.
  bool may_write() const { return seams_.is_leading(); }
  // Reads from the API server itself, not from a store; by the leader only, for they prepare
  // writes.
  net::Task<Result<Json>> get(kube::Resource resource, kube::ObjectKey key);
  net::Task<Result<kube::ObjectPage>> list(kube::Resource resource, std::string name_space,
                                           kube::ListOptions options);

  // Writes. `owner` is the ModelServing on whose behalf they are made. Their answers hold the
  // object's metadata alone unless more is asked for: mostly nothing else of them is read, and a
  // pod would be six kilobytes.
  net::Task<Result<Json>> create(kube::ObjectKey owner, kube::Resource resource,
                                 std::string name_space, std::string body);
  net::Task<Result<Json>> patch(kube::ObjectKey owner, kube::Resource resource, kube::ObjectKey key,
                                std::string body, kube::PatchOptions options,
                                kube::Content content = kube::Content::kMetadata);
  net::Task<Status> remove(kube::ObjectKey owner, kube::Resource resource, kube::ObjectKey key,
                           kube::DeleteOptions options);

  /// All writes so far, for the debug page.
  std::int64_t write_count() const { return write_count_; }

 private:
  Status check_leading() const;
  /// `verb`: of static storage, as a resource's names are.
  Status admit(kube::Resource resource, const char* verb);
  void note(const kube::ObjectKey& owner, kube::Resource resource, const Json& answer);

  const Clock& clock_;
  kube::ApiClient& client_;
  MetricRegistry& metrics_;
  Seams seams_;
  std::int64_t write_count_ = 0;
  /// By plural and verb; finding one by its labels costs as much as a small write.
  std::map<std::pair<std::string_view, std::string_view>, Counter*> series_;
};

}  // namespace kantha::cluster
