#include "operator/serving/pod_object.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/digest.h"
#include "operator/kube/object_meta.h"
#include "operator/serving/bounded_text.h"
#include "operator/serving/children.h"
#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

constexpr std::size_t kMessageBytesMax = 512;
constexpr std::size_t kNameBytesMax = 512;

/// A member of an object, or nullptr.
const Json* member(const Json* json, const char* name) {
  if (json == nullptr || !json->is_object()) return nullptr;
  const auto found = json->find(name);
  return found == json->end() ? nullptr : &*found;
}

std::string text(const Json* json, const char* name, std::size_t bytes_max = kNameBytesMax) {
  const Json* value = member(json, name);
  if (value == nullptr || !value->is_string()) return {};
  return bounded_text(value->get_ref<const std::string&>(), bytes_max);
}

std::int64_t number(const Json* json, const char* name) {
  const Json* value = member(json, name);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

std::optional<WallTime> time_of(const Json* json, const char* name) {
  return timestamp_from_text(text(json, name));
}

/// The entry of a list whose `key` is `value`, or nullptr.
const Json* entry_of(const Json* list, const char* key, std::string_view value) {
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const Json& entry : *list) {
    const Json* name = member(&entry, key);
    if (name != nullptr && name->is_string() && name->get_ref<const std::string&>() == value) {
      return &entry;
    }
  }
  return nullptr;
}

std::string take(std::map<std::string, std::string>& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : bounded_text(found->second, kNameBytesMax);
}

/// The restarts at which an image was told. What cannot be read is reached by no count.
std::optional<std::int64_t> restarts_from_text(const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::int64_t out = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, out);
  return error == std::errc{} && end == last ? out : std::numeric_limits<std::int64_t>::max();
}

void read_meta(kube::ObjectMeta& meta, PodObject& out) {
  out.name_space = std::move(meta.key.name_space);
  out.name = std::move(meta.key.name);
  out.uid = std::move(meta.uid);
  out.resource_version = std::move(meta.resource_version);
  if (const kube::OwnerReference* owner = meta.controller()) {
    out.owner_uid = owner->uid;
    out.owner_name = bounded_text(owner->kind + "/" + owner->name, kNameBytesMax);
  }
  out.serving = take(meta.labels, kLabelName);
  out.role = take(meta.labels, kLabelRole);
  out.ordinal = take(meta.labels, kLabelOrdinal);
  out.told_revision = take(meta.annotations, kAnnotationTold);
  out.born_revision = take(meta.annotations, kAnnotationBorn);
  out.pod_revision = take(meta.annotations, kAnnotationPod);
  out.verified_revision = take(meta.annotations, kAnnotationVerified);
  out.image_told_at = restarts_from_text(take(meta.annotations, kAnnotationImageTold));
  out.told_at = restarts_from_text(take(meta.annotations, kAnnotationToldAt));
  out.is_retold =
      meta.annotations.contains(kAnnotationRetold) || out.told_revision != out.born_revision;
  const auto config = meta.annotations.find(kAnnotationEngineConfig);
  if (config != meta.annotations.end()) out.engine_config_hash = sha256_hex(config->second);
  out.is_protected = meta.annotations.contains(kAnnotationSafeToEvict) ||
                     meta.annotations.contains(kAnnotationDoNotDisrupt);
  if (meta.deletion_timestamp) {
    // A time that cannot be read still means that the pod is on its way out.
    out.deletion = timestamp_from_text(*meta.deletion_timestamp).value_or(WallTime{});
  }
}

void read_spec(const Json* spec, PodObject& out) {
  out.node = text(spec, "nodeName");
  const Json* containers = member(spec, "containers");
  const Json* engine = entry_of(containers, "name", kContainerEngine);
  if (engine == nullptr) return;
  out.engine_image = text(engine, "image", 4096);
  out.engine_index = engine - &(*containers)[0];
}

PodPhase phase_of(std::string_view name) {
  if (name == "Pending") return PodPhase::kPending;
  if (name == "Running") return PodPhase::kRunning;
  if (name == "Succeeded") return PodPhase::kSucceeded;
  if (name == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

void read_container(const Json* status, ContainerState& out) {
  const Json* state = member(status, "state");
  const Json* waiting = member(state, "waiting");
  out.waiting_reason = text(waiting, "reason");
  out.waiting_message = text(waiting, "message", kMessageBytesMax);
  out.running = member(state, "running") != nullptr;
  out.image = text(status, "image", 4096);
  out.image_id = text(status, "imageID", 4096);
  out.restarts = number(status, "restartCount");
  const Json* ended = member(state, "terminated");
  if (ended == nullptr) ended = member(member(status, "lastState"), "terminated");
  if (ended == nullptr) return;
  out.exit_code = static_cast<int>(number(ended, "exitCode"));
  out.exit_reason = text(ended, "reason");
}

void read_status(const Json* status, PodObject& out) {
  out.phase = phase_of(text(status, "phase"));
  out.reason = text(status, "reason");
  out.message = text(status, "message", kMessageBytesMax);
  out.ip = text(status, "podIP");
  const Json* conditions = member(status, "conditions");
  if (const Json* ready = entry_of(conditions, "type", "Ready")) {
    out.ready = text(ready, "status") == "True";
    out.ready_since = time_of(ready, "lastTransitionTime");
  }
  const Json* scheduled = entry_of(conditions, "type", "PodScheduled");
  if (text(scheduled, "status") == "False") {
    out.unschedulable_message = text(scheduled, "message", kMessageBytesMax);
    if (out.unschedulable_message.empty()) out.unschedulable_message = text(scheduled, "reason");
  }
  const Json* containers = member(status, "containerStatuses");
  read_container(entry_of(containers, "name", kContainerNoded), out.noded);
  read_container(entry_of(containers, "name", kContainerEngine), out.engine);
}

/// "busybox" as runtimes spell it: "docker.io/library/busybox:latest".
std::string full_image_name(std::string_view image) {
  std::string name(image);
  const std::size_t slash = name.find('/');
  const std::string first = name.substr(0, slash);
  const bool has_registry =
      slash != std::string::npos &&
      (first.find_first_of(".:") != std::string::npos || first == "localhost");
  if (!has_registry) {
    name = (slash == std::string::npos ? "docker.io/library/" : "docker.io/") + name;
  }
  const std::size_t tail = name.rfind('/');
  if (name.find_first_of(":@", tail) == std::string::npos) name += ":latest";
  return name;
}

std::string digest_of(std::string_view image) {
  const std::size_t at = image.rfind("sha256:");
  return at == std::string_view::npos ? std::string() : std::string(image.substr(at));
}

}  // namespace

Result<PodObject> pod_object_from_json(const Json& pod) {
  if (!json_fits(pod, kObjectBytesMax, kObjectDepthMax)) {
    return Error{Code::kOutOfRange, "the pod has more than 1.5 MiB or 64 levels"};
  }
  TRY(kube::ObjectMeta meta, kube::object_meta_from_json(pod));
  PodObject out;
  read_meta(meta, out);
  out.created = time_of(member(&pod, "metadata"), "creationTimestamp");
  read_spec(member(&pod, "spec"), out);
  read_status(member(&pod, "status"), out);
  return out;
}

bool is_same_image(std::string_view wanted, const ContainerState& reported) {
  if (wanted.empty() || reported.image.empty()) return false;
  if (wanted == reported.image || full_image_name(wanted) == full_image_name(reported.image)) {
    return true;
  }
  const std::string digest = digest_of(wanted);
  return !digest.empty() &&
         (digest == digest_of(reported.image_id) || digest == digest_of(reported.image));
}

bool runs_told_image(const PodObject& pod) {
  if (!pod.image_told_at || is_same_image(pod.engine_image, pod.engine)) return true;
  return pod.engine.running && pod.engine.restarts > *pod.image_told_at;
}

}  // namespace kantha::serving
