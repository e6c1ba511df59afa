#include "operator/cluster/child_object.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "base/json_text.h"
#include "operator/serving/children.h"
#include "operator/serving/cluster_object.h"

namespace kantha::cluster {
namespace {

/// Of an object what is no content, and what its place says already.
constexpr std::array<std::string_view, 4> kNoContent = {"apiVersion", "kind", "metadata", "status"};
/// The same of its metadata.
constexpr std::array<std::string_view, 5> kNoContentOfMeta = {
    "creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink"};

/// The members of an object but for some, as the inside of compact JSON.
template <std::size_t N>
void append_members(const Json& object, const std::array<std::string_view, N>& left_out,
                    std::string& out) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(left_out, key) != left_out.end()) continue;
    if (out.back() != '{') out += ',';
    out += dump_json(Json(key));
    out += ':';
    out += dump_json(value);
  }
}

/// The object without what the server keeps for itself.
std::string content_text(const Json& object) {
  std::string out = "{\"metadata\":{";
  append_members(object.at("metadata"), kNoContentOfMeta, out);
  out += '}';
  append_members(object, kNoContent, out);
  out += '}';
  return out;
}

}  // namespace

Json ChildObject::json() const {
  Result<Json> parsed = parse_json(text.empty() ? "{}" : text);
  return parsed.ok() ? std::move(parsed).value() : Json::object();
}

bool is_same_content(const ChildObject& before, const ChildObject& after) {
  return before.meta.uid == after.meta.uid &&
         before.meta.is_deleting() == after.meta.is_deleting() &&
         before.owner_uid == after.owner_uid && before.serving == after.serving &&
         before.digest == after.digest && before.conditions == after.conditions;
}

Result<ChildObject> bare_child_from_json(const Json& object) {
  ChildObject out;
  TRY(kube::ObjectMeta whole, kube::object_meta_from_json(object));
  if (const kube::OwnerReference* owner = whole.controller()) {
    out.owner_uid = owner->uid;
    if (owner->kind == serving::kKind) out.serving = owner->name;
  }
  const auto label = whole.labels.find(serving::kLabelName);
  if (label != whole.labels.end()) out.serving = label->second;
  const Json& meta = object.at("metadata");
  const auto created = meta.find("creationTimestamp");
  if (created != meta.end() && created->is_string()) out.created = created->get<std::string>();
  out.meta = {std::move(whole.key), std::move(whole.uid), std::move(whole.resource_version),
              whole.is_deleting()};
  return out;
}

Result<ChildObject> child_object_from_json(const Json& object) {
  if (!serving::json_fits(object, serving::kObjectBytesMax, serving::kObjectDepthMax)) {
    return Error{Code::kOutOfRange, "the object has more than 1.5 MiB or 64 levels"};
  }
  TRY(ChildObject out, bare_child_from_json(object));
  out.text = content_text(object);
  out.text.shrink_to_fit();  // A dump grows by doubling, and sixty thousand of these are kept.
  out.digest = std::hash<std::string>{}(out.text);
  return out;
}

Result<ChildObject> autoscaler_from_json(const Json& object) {
  TRY(ChildObject out, child_object_from_json(object));
  const Json target = object.value(Json::json_pointer("/spec/scaleTargetRef"), Json::object());
  const bool is_ours =
      text_at(target, "kind") == serving::kKind &&
      text_at(target, "apiVersion").starts_with(std::string(serving::kGroup) + "/");
  out.serving = is_ours ? text_at(target, "name") : std::string();
  if (out.serving.empty()) {
    out.text = {};
    out.digest = 0;
  }
  const Json conditions = object.value(Json::json_pointer("/status/conditions"), Json::array());
  Json kept = Json::array();
  for (const Json& entry : conditions) {
    kept.push_back({{"type", text_at(entry, "type")},
                    {"status", text_at(entry, "status")},
                    {"reason", text_at(entry, "reason")},
                    {"message", text_at(entry, "message")}});
  }
  if (!out.serving.empty()) out.conditions = dump_json(kept);
  return out;
}

Result<StoredPod> stored_pod_from_json(const Json& object) {
  StoredPod out;
  TRY(out.pod, serving::pod_object_from_json(object));
  out.meta.key = {out.pod.name_space, out.pod.name};
  out.meta.uid = out.pod.uid;
  out.meta.resource_version = out.pod.resource_version;
  out.meta.is_marked = out.pod.is_terminating();
  return out;
}

}  // namespace kantha::cluster
