#include "operator/cluster/child_object.h"

#include <utility>

#include "operator/serving/children.h"
#include "operator/serving/cluster_object.h"

namespace kantha::cluster {
namespace {

/// The object without what the server keeps for itself.
std::string content_text(const Json& object) {
  Json copy = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (key != "status" && key != "metadata") copy[key] = value;
  }
  Json meta = Json::object();
  for (const auto& [key, value] : object.at("metadata").items()) {
    if (key != "managedFields" && key != "creationTimestamp" && key != "selfLink") {
      meta[key] = value;
    }
  }
  copy["metadata"] = std::move(meta);
  return dump_json(copy);
}

}  // namespace

Json ChildObject::json() const {
  Result<Json> parsed = parse_json(text.empty() ? "{}" : text);
  return parsed.ok() ? std::move(parsed).value() : Json::object();
}

Result<ChildObject> bare_child_from_json(const Json& object) {
  ChildObject out;
  TRY(out.meta, kube::object_meta_from_json(object));
  if (const kube::OwnerReference* owner = out.meta.controller()) {
    out.owner_uid = owner->uid;
    if (owner->kind == serving::kKind) out.serving = owner->name;
  }
  const auto label = out.meta.labels.find(serving::kLabelName);
  if (label != out.meta.labels.end()) out.serving = label->second;
  const Json& meta = object.at("metadata");
  const auto created = meta.find("creationTimestamp");
  if (created != meta.end() && created->is_string()) out.created = created->get<std::string>();
  out.meta.owners = {};
  out.meta.finalizers = {};
  out.meta.labels.clear();
  out.meta.annotations.clear();
  return out;
}

Result<ChildObject> child_object_from_json(const Json& object) {
  if (!serving::json_fits(object, serving::kObjectBytesMax, serving::kObjectDepthMax)) {
    return Error{Code::kOutOfRange, "the object has more than 1.5 MiB or 64 levels"};
  }
  TRY(ChildObject out, bare_child_from_json(object));
  out.text = content_text(object);
  return out;
}

Result<StoredPod> stored_pod_from_json(const Json& object) {
  StoredPod out;
  TRY(out.pod, serving::pod_object_from_json(object));
  out.meta.key = {out.pod.name_space, out.pod.name};
  out.meta.uid = out.pod.uid;
  out.meta.resource_version = out.pod.resource_version;
  const Json& meta = object.at("metadata");
  const auto deletion = meta.find("deletionTimestamp");
  if (deletion != meta.end() && deletion->is_string()) {
    out.meta.deletion_timestamp = deletion->get<std::string>();
  }
  return out;
}

}  // namespace kantha::cluster
