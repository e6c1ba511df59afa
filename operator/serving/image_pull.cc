#include "operator/serving/image_pull.h"

#include <algorithm>
#include <cctype>

#include "base/digest.h"
#include "operator/serving/children.h"
#include "operator/serving/pod_trouble.h"
#include "operator/serving/render_pod.h"

namespace kantha::serving {
namespace {

constexpr const char* kRolePull = "pull";
constexpr std::string_view kDigestMark = "@sha256:";
constexpr std::size_t kDigestDigits = 64;
/// How long the program that was pulled may run before the kubelet ends it, should we not.
constexpr int kRunSecondsMax = 3600;

/// "docker.io/library/busybox" of "busybox:1": what runtimes spell out, without tag and digest.
std::string repository_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t tail = image.rfind('/');
  const std::size_t tag = image.find(':', tail == std::string_view::npos ? 0 : tail);
  std::string name(image.substr(0, tag));
  const std::string first = name.substr(0, name.find('/'));
  const bool has_path = name.find('/') != std::string::npos;
  const bool has_registry =
      has_path && (first.find_first_of(".:") != std::string::npos || first == "localhost");
  if (has_registry) return name;
  return (has_path ? "docker.io/" : "docker.io/library/") + name;
}

bool is_digest(std::string_view digits) {
  return digits.size() == kDigestDigits && std::all_of(digits.begin(), digits.end(), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0 || (c >= 'a' && c <= 'f');
         });
}

/// Its container was made, which needs the image, however it went on.
bool has_image(const PodObject& pod) {
  const ContainerState& engine = pod.engine;
  return engine.running || engine.exit_code || engine.restarts > 0;
}

}  // namespace

bool is_image_pull(const ClusterServing& owner, const PodObject& pod) {
  return pod.role == kRolePull && !pod.owner_uid.empty() && pod.owner_uid == owner.meta.uid;
}

ImagePull image_pull_of(const PodObject& pod, WallTime now) {
  ImagePull out{.pod = pod.name,
                .uid = pod.uid,
                .node = pod.node,
                .image = pod.engine_image,
                .pulled = has_image(pod),
                .image_id = pod.engine.image_id,
                .terminating = pod.is_terminating()};
  // A node that takes no further pod says nothing of the image.
  if (out.pulled || pod.has_ended()) return out;
  const PodTrouble trouble = pod_trouble(pod, now);
  if (is_image_trouble(pod.engine.waiting_reason)) out.failure = trouble.message;
  return out;
}

std::string image_pull_name(std::string_view name, const std::string& node,
                            const std::string& image) {
  constexpr std::size_t kDigits = 10;
  // The letter keeps it from being an ordinal of a ModelServing "NAME-pull".
  return std::string(name) + "-pull-n" + sha256_hex(node + "\n" + image).substr(0, kDigits);
}

OrderedJson render_image_pull(const ClusterServing& owner, const ClusterSettings& settings,
                              const std::string& node, const std::string& image) {
  const std::string& name = owner.serving.metadata.name;
  OrderedJson out;
  out["apiVersion"] = "v1";
  out["kind"] = "Pod";
  OrderedJson& metadata = out["metadata"] =
      child_metadata(owner, image_pull_name(name, node, image));
  metadata["labels"].erase(kLabelName);
  metadata["labels"][kLabelRole] = kRolePull;
  OrderedJson& spec = out["spec"];
  spec["nodeName"] = node;
  spec["serviceAccountName"] = service_account_name(name);
  spec["automountServiceAccountToken"] = false;
  spec["enableServiceLinks"] = false;
  spec["restartPolicy"] = "Never";
  spec["activeDeadlineSeconds"] = kRunSecondsMax;
  spec["terminationGracePeriodSeconds"] = 0;
  spec["tolerations"] = OrderedJson::array({{{"operator", "Exists"}}});
  spec["securityContext"] = restricted_pod_security();
  for (const std::string& secret : settings.image_pull_secrets) {
    spec["imagePullSecrets"].push_back({{"name", secret}});
  }
  OrderedJson container;
  container["name"] = kContainerEngine;
  container["image"] = image;
  if (!settings.image_pull_policy.empty())
    container["imagePullPolicy"] = settings.image_pull_policy;
  container["args"] = OrderedJson::array({"--version"});
  container["resources"]["requests"] = {{"cpu", "1m"}, {"memory", "16Mi"}};
  container["resources"]["limits"] = {{"cpu", "500m"}, {"memory", "256Mi"}};
  container["securityContext"] = restricted_container_security();
  spec["containers"] = OrderedJson::array({std::move(container)});
  return out;
}

std::string image_by_digest(std::string_view image, std::string_view image_id) {
  if (image.empty() || image.find('@') != std::string_view::npos) return {};
  const std::size_t scheme = image_id.find("://");
  if (scheme != std::string_view::npos) image_id.remove_prefix(scheme + 3);
  const std::size_t mark = image_id.find(kDigestMark);
  if (mark == std::string_view::npos) return {};
  if (!is_digest(image_id.substr(mark + kDigestMark.size()))) return {};
  if (repository_of(image) != repository_of(image_id)) return {};
  const std::size_t tail = image.rfind('/');
  const std::size_t tag = image.find(':', tail == std::string_view::npos ? 0 : tail);
  return std::string(image.substr(0, tag)) + std::string(image_id.substr(mark));
}

}  // namespace kantha::serving
