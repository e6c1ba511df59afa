#include "tests/fake/api_server/field_set.h"

#include <map>
#include <utility>

namespace kantha::fake {
namespace {

FieldPath below(const FieldPath& path, const std::string& component) {
  return path + kPathSeparator + component;
}

FieldPath field_below(const FieldPath& path, const std::string& name) {
  return path + kPathSeparator + "f:" + name;
}

/// Fields of metadata and the top that belong to the server and are nobody's.
bool is_unowned(const FieldPath& path) {
  static const std::set<std::string> top = {"f:apiVersion", "f:kind"};
  static const std::set<std::string> meta = {
      "f:name",         "f:namespace",         "f:uid",
      "f:generation",   "f:resourceVersion",   "f:creationTimestamp",
      "f:selfLink",     "f:deletionTimestamp", "f:deletionGracePeriodSeconds",
      "f:managedFields"};
  const auto parts = components(path);
  if (parts.size() == 1) return top.contains(parts[0]);
  return parts.size() == 2 && parts[0] == "f:metadata" && meta.contains(parts[1]);
}

void collect(const Shape& shape, const Json& value, const FieldPath& path, FieldSet& set) {
  if (is_unowned(path)) return;
  if (value.is_object() && !value.empty() && !shape.is_atomic_map()) {
    for (const auto& [name, child] : value.items()) {
      collect(shape.field(name), child, field_below(path, name), set);
    }
    return;
  }
  const ListType type = value.is_array() ? shape.list_type() : ListType::kAtomic;
  if (type == ListType::kAtomic || value.empty()) {
    if (!path.empty()) set.insert(path);
    return;
  }
  for (const Json& element : value) {
    const FieldPath at = below(path, shape.element_name(element));
    set.insert(at);
    if (type == ListType::kMap) collect(shape.element(), element, at, set);
  }
}

std::map<std::string, const Json*> by_name(const Shape& shape, const Json& list) {
  std::map<std::string, const Json*> elements;
  for (const Json& element : list) elements.emplace(shape.element_name(element), &element);
  return elements;
}

class Differ {
 public:
  explicit Differ(FieldDiff& diff) : diff_(diff) {}

  void compare(const Shape& shape, const Json& before, const Json& after, const FieldPath& path) {
    if (is_unowned(path) || before == after) return;
    if (before.is_object() && after.is_object() && !shape.is_atomic_map()) {
      compare_maps(shape, before, after, path);
      return;
    }
    const bool lists = before.is_array() && after.is_array();
    if (lists && shape.list_type() != ListType::kAtomic) {
      compare_lists(shape, before, after, path);
      return;
    }
    diff_.modified.insert(path);
  }

 private:
  void compare_maps(const Shape& shape, const Json& before, const Json& after,
                    const FieldPath& path) {
    for (const auto& [name, value] : after.items()) {
      const FieldPath at = field_below(path, name);
      const auto old = before.find(name);
      if (old == before.end()) {
        collect(shape.field(name), value, at, diff_.added);
      } else {
        compare(shape.field(name), *old, value, at);
      }
    }
    for (const auto& [name, value] : before.items()) {
      if (after.contains(name)) continue;
      collect(shape.field(name), value, field_below(path, name), diff_.removed);
    }
  }

  void compare_lists(const Shape& shape, const Json& before, const Json& after,
                     const FieldPath& path) {
    const auto old = by_name(shape, before);
    const auto now = by_name(shape, after);
    for (const auto& [name, element] : now) {
      const FieldPath at = below(path, name);
      if (const auto found = old.find(name); found != old.end()) {
        compare(shape.element(), *found->second, *element, at);
        continue;
      }
      diff_.added.insert(at);
      if (element->is_object()) collect(shape.element(), *element, at, diff_.added);
    }
    for (const auto& [name, element] : old) {
      if (now.contains(name)) continue;
      diff_.removed.insert(below(path, name));
      if (element->is_object()) {
        collect(shape.element(), *element, below(path, name), diff_.removed);
      }
    }
  }

  FieldDiff& diff_;
};

void remove_at(const Shape& shape, Json& value, const std::vector<std::string>& parts,
               std::size_t depth) {
  const std::string& part = parts[depth];
  const bool last = depth + 1 == parts.size();
  if (part.starts_with("f:")) {
    const std::string name = part.substr(2);
    if (!value.is_object() || !value.contains(name)) return;
    if (!last) remove_at(shape.field(name), value[name], parts, depth + 1);
    const Json& child = value[name];
    if (last || (child.is_structured() && child.empty())) value.erase(name);
    return;
  }
  if (!value.is_array()) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (shape.element_name(value[i]) != part) continue;
    if (!last) remove_at(shape.element(), value[i], parts, depth + 1);
    if (last || value[i].empty()) value.erase(i);
    return;
  }
}

}  // namespace

std::vector<std::string> components(const FieldPath& path) {
  std::vector<std::string> parts;
  std::size_t begin = path.empty() ? std::string::npos : 1;
  while (begin != std::string::npos) {
    const std::size_t end = path.find(kPathSeparator, begin);
    parts.push_back(path.substr(begin, end == std::string::npos ? end : end - begin));
    begin = end == std::string::npos ? end : end + 1;
  }
  return parts;
}

FieldSet fields_of(const Kind& kind, const Json& object) {
  FieldSet set;
  collect(Shape(kind), object, {}, set);
  return set;
}

FieldDiff diff_fields(const Kind& kind, const Json& before, const Json& after) {
  FieldDiff diff;
  Differ(diff).compare(Shape(kind), before, after, {});
  return diff;
}

void remove_field(const Kind& kind, Json& object, const FieldPath& path) {
  const auto parts = components(path);
  if (!parts.empty()) remove_at(Shape(kind), object, parts, 0);
}

bool holds_at_or_below(const FieldSet& set, const FieldPath& path) {
  const auto found = set.lower_bound(path);
  if (found == set.end()) return false;
  return *found == path || found->starts_with(path + kPathSeparator);
}

std::string readable(const FieldPath& path) {
  std::string text;
  for (const std::string& part : components(path)) {
    if (part.starts_with("f:")) {
      text += "." + part.substr(2);
    } else if (part.starts_with("v:")) {
      text += "[=" + part.substr(2) + "]";
    } else {
      std::string inside;
      for (const auto& [name, value] : Json::parse(part.substr(2)).items()) {
        inside += (inside.empty() ? "" : ",") + name + "=" + dump_json(value);
      }
      text += "[" + inside + "]";
    }
  }
  return text;
}

Json fields_v1(const FieldSet& set) {
  Json root = Json::object();
  for (const FieldPath& path : set) {
    Json* at = &root;
    const auto parts = components(path);
    for (const std::string& part : parts) {
      at = &(*at)[part];
      if (!at->is_object()) *at = Json::object();
    }
    if (!parts.back().starts_with("f:")) (*at)["."] = Json::object();
  }
  return root;
}

}  // namespace kantha::fake
