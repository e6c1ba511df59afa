#include "operator/kube/object_meta.h"

#include <charconv>

#include "base/json_fields.h"

namespace kantha::kube {
namespace {

/// An object of strings; anything else in it is refused with its path.
Result<std::map<std::string, std::string>> string_map(const JsonFields& fields,
                                                      std::string_view name) {
  std::map<std::string, std::string> out;
  const Json* json = fields.find(name);
  if (json == nullptr) return out;
  const std::string path = fields.path_of(name);
  if (!json->is_object()) return invalid_argument("expected an object", path);
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) return invalid_argument("expected a string", path + "." + key);
    out.emplace(key, value.get<std::string>());
  }
  return out;
}

Result<std::vector<OwnerReference>> owner_references(const JsonFields& meta) {
  constexpr std::size_t kCountMax = 1000;
  std::vector<OwnerReference> out;
  TRY(const Json* array, meta.array("ownerReferences", kCountMax));
  if (array == nullptr) return out;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonFields fields((*array)[i],
                            meta.path_of("ownerReferences") + "[" + std::to_string(i) + "]");
    TRY_OK(fields.check_object());
    TRY(auto api_version, fields.string("apiVersion"));
    TRY(auto kind, fields.string("kind"));
    TRY(auto name, fields.string("name"));
    TRY(auto uid, fields.string("uid"));
    TRY(auto controller, fields.boolean("controller"));
    out.push_back({api_version.value_or(""), kind.value_or(""), name.value_or(""), uid.value_or(""),
                   controller.value_or(false)});
  }
  return out;
}

std::optional<std::uint64_t> version_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

Result<ObjectMeta> object_meta_from_json(const Json& object) {
  constexpr std::size_t kFinalizersMax = 1000;
  const JsonFields root(object, "");
  TRY_OK(root.check_object());
  TRY(auto meta, root.object("metadata"));
  if (!meta) return invalid_argument("missing", "metadata");
  ObjectMeta out;
  TRY(auto name, meta->string("name"));
  TRY(auto name_space, meta->string("namespace"));
  TRY(auto uid, meta->string("uid"));
  TRY(auto version, meta->string("resourceVersion"));
  TRY(auto generation, meta->integer("generation", 0, INT64_MAX));
  TRY(out.deletion_timestamp, meta->string("deletionTimestamp"));
  TRY(auto finalizers, meta->strings("finalizers", kFinalizersMax));
  TRY(out.owners, owner_references(*meta));
  TRY(out.labels, string_map(*meta, "labels"));
  TRY(out.annotations, string_map(*meta, "annotations"));
  if (!name || name->empty()) return invalid_argument("missing", "metadata.name");
  out.key = {name_space.value_or(""), *name};
  out.uid = uid.value_or("");
  out.resource_version = version.value_or("");
  out.generation = generation.value_or(0);
  if (finalizers) out.finalizers = *finalizers;
  return out;
}

std::partial_ordering compare_versions(const std::string& left, const std::string& right) {
  if (left == right) return std::partial_ordering::equivalent;
  const auto a = version_number(left);
  const auto b = version_number(right);
  if (!a || !b) return std::partial_ordering::unordered;
  return *a <=> *b;
}

}  // namespace kantha::kube
