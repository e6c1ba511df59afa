#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// How everything that belongs to one ModelServing is called, labelled and owned in a cluster.
/// Pure; any thread.
namespace kantha::serving {

inline constexpr const char* kLabelName = "serving.kantha.dev/name";
inline constexpr const char* kLabelRole = "serving.kantha.dev/role";
inline constexpr const char* kLabelOrdinal = "serving.kantha.dev/ordinal";
inline constexpr const char* kLabelRevision = "serving.kantha.dev/revision";
inline constexpr const char* kRoleReplica = "replica";

inline constexpr const char* kAnnotationEngineConfig = "serving.kantha.dev/engine-config";
inline constexpr const char* kAnnotationTold = "serving.kantha.dev/told-revision";
inline constexpr const char* kAnnotationBorn = "serving.kantha.dev/born-revision";
/// On a pod that was told another revision than it was born with: the digest told before the last.
inline constexpr const char* kAnnotationRetold = "serving.kantha.dev/retold-from";
/// On a pod whose engine was told another image: how often it had restarted then; -1: never
/// started.
inline constexpr const char* kAnnotationImageTold = "serving.kantha.dev/image-told-at-restart";
/// On a pod that was told another revision: how often its engine's container had restarted then, so
/// that what it did before is not held against what it was told.
inline constexpr const char* kAnnotationToldAt = "serving.kantha.dev/told-at-restart";
/// The told revision, once its engine was seen to run it; then nobody has to ask again.
inline constexpr const char* kAnnotationVerified = "serving.kantha.dev/verified-revision";
inline constexpr const char* kAnnotationPod = "serving.kantha.dev/pod-revision";
/// What node autoscalers read; on a pod until it is ready for the first time.
inline constexpr const char* kAnnotationSafeToEvict =
    "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr const char* kAnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt";

inline constexpr const char* kFinalizerDrain = "serving.kantha.dev/drain";
inline constexpr const char* kFieldManager = "kantha-operator";
inline constexpr const char* kStatusFieldManager = "kantha-operator-status";
inline constexpr const char* kManagedBy = "kantha-operator";

inline constexpr const char* kContainerNoded = "noded";
inline constexpr const char* kContainerEngine = "engine";
inline constexpr int kApiPort = 8000;
inline constexpr int kAdminPort = 8001;
inline constexpr const char* kAdminTokenKey = "token";
inline constexpr const char* kEngineSocket = "/run/kantha/engine.sock";

/// Names longer than this would make children or labels invalid.
inline constexpr std::size_t kNameMax = 50;

std::string service_name(std::string_view name);
std::string headless_service_name(std::string_view name);
/// Of the EndpointSlice that leads requests to the activator.
std::string activator_slice_name(std::string_view name);
std::string disruption_budget_name(std::string_view name);
std::string service_account_name(std::string_view name);
/// Of the HorizontalPodAutoscaler: as the object, as people make theirs.
std::string hpa_name(std::string_view name);
std::string admin_secret_name(std::string_view name);
/// "NAME-r-xxxxxxxxxx", of a whole digest.
std::string revision_config_map_name(std::string_view name, const std::string& digest);

/// The ordinal that a pod's name says, if it is one of `name`'s pods: "m-3" of "m" is 3. Leading
/// zeros and anything beyond ten thousand are no ordinals.
std::optional<std::int64_t> ordinal_of_pod_name(std::string_view name, std::string_view pod);

/// Labels of every child.
OrderedJson child_labels(std::string_view name);
/// What Services and the budget select: this object's pods, of all revisions, and nobody else's.
OrderedJson pod_selector(std::string_view name);
/// The same as status.selector has it.
std::string pod_selector_text(std::string_view name);

/// metadata of a child: name, namespace, labels, the owner reference (controller, blocking).
OrderedJson child_metadata(const ClusterServing& owner, const std::string& name);

}  // namespace kantha::serving
