#include "tests/fake/api_server/field_managers.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace kantha::fake {
namespace {

Json merged(const Shape& shape, const Json& live, const Json& config);

Json merged_lists(const Shape& shape, const Json& live, const Json& config) {
  std::map<std::string, const Json*> old;
  std::set<std::string> wanted;
  for (const Json& element : live) old.emplace(shape.element_name(element), &element);
  for (const Json& element : config) wanted.insert(shape.element_name(element));
  Json list = Json::array();
  std::size_t at = 0;  // in live: what only it has keeps its place before what both have
  const auto take_foreign = [&] {
    while (at < live.size() && !wanted.contains(shape.element_name(live[at]))) {
      list.push_back(live[at++]);
    }
  };
  for (const Json& element : config) {
    take_foreign();
    const auto found = old.find(shape.element_name(element));
    if (found == old.end()) {
      list.push_back(element);
      continue;
    }
    list.push_back(merged(shape.element(), *found->second, element));
    if (at < live.size()) ++at;
  }
  for (; at < live.size(); ++at) {
    if (!wanted.contains(shape.element_name(live[at]))) list.push_back(live[at]);
  }
  return list;
}

Json merged(const Shape& shape, const Json& live, const Json& config) {
  if (live.is_object() && config.is_object() && !shape.is_atomic_map()) {
    Json object = live;
    for (const auto& [name, value] : config.items()) {
      object[name] = live.contains(name) ? merged(shape.field(name), live[name], value) : value;
    }
    return object;
  }
  const bool lists = live.is_array() && config.is_array();
  if (lists && shape.list_type() != ListType::kAtomic) return merged_lists(shape, live, config);
  return config;
}

bool is_same_owner(const ManagerEntry& entry, const Writer& writer, bool is_apply) {
  return entry.manager == writer.manager && entry.is_apply == is_apply &&
         entry.subresource == writer.subresource;
}

void forget_fields(ManagerEntries& managers, const FieldSet& fields, const Writer& writer,
                   bool is_apply) {
  for (ManagerEntry& entry : managers) {
    if (is_same_owner(entry, writer, is_apply)) continue;
    for (const FieldPath& path : fields) entry.fields.erase(path);
  }
}

void drop_empty(ManagerEntries& managers) {
  std::erase_if(managers, [](const ManagerEntry& entry) { return entry.fields.empty(); });
}

/// Takes out what the writer applied before and applies no longer, where nobody else owns it.
void prune(const Kind& kind, Json& object, const ManagerEntries& managers, const FieldSet& last,
           const FieldSet& now, const Writer& writer) {
  for (const FieldPath& path : last) {
    if (now.contains(path) || holds_at_or_below(now, path)) continue;
    const bool shared = std::any_of(managers.begin(), managers.end(), [&](const auto& entry) {
      return !is_same_owner(entry, writer, true) && holds_at_or_below(entry.fields, path);
    });
    if (!shared) remove_field(kind, object, path);
  }
}

}  // namespace

Applied apply_config(const Kind& kind, const Json& live, const ManagerEntries& managers,
                     const Json& config, const Writer& writer, bool force) {
  Applied result{.object = merged(Shape(kind), live, config), .managers = managers};
  const FieldSet fields = fields_of(kind, config);
  const FieldDiff diff = diff_fields(kind, live, result.object);
  FieldSet changed = diff.modified;
  changed.insert(diff.added.begin(), diff.added.end());
  for (const ManagerEntry& entry : managers) {
    if (is_same_owner(entry, writer, true)) continue;
    for (const FieldPath& path : entry.fields) {
      if (changed.contains(path)) result.conflicts.push_back({entry, path});
    }
  }
  if (!result.conflicts.empty() && !force) return result;
  for (const ApplyConflict& conflict : result.conflicts) {
    forget_fields(result.managers, {conflict.path}, writer, true);
  }
  result.conflicts.clear();
  const auto own = std::find_if(result.managers.begin(), result.managers.end(),
                                [&](const auto& e) { return is_same_owner(e, writer, true); });
  if (own == result.managers.end()) {
    result.managers.push_back({writer.manager, true, writer.subresource, writer.time, fields});
  } else {
    const FieldSet last = std::exchange(own->fields, fields);
    prune(kind, result.object, result.managers, last, fields, writer);
    if (last != fields || result.object != live) own->time = writer.time;
  }
  drop_empty(result.managers);
  return result;
}

ManagerEntries managers_after_update(const Kind& kind, const Json& before, const Json& after,
                                     const ManagerEntries& managers, const Writer& writer) {
  const FieldDiff diff = diff_fields(kind, before, after);
  FieldSet owned = diff.modified;
  owned.insert(diff.added.begin(), diff.added.end());
  FieldSet lost = owned;
  lost.insert(diff.removed.begin(), diff.removed.end());
  ManagerEntries result = managers;
  forget_fields(result, lost, writer, false);
  const auto own = std::find_if(result.begin(), result.end(), [&](const ManagerEntry& entry) {
    return is_same_owner(entry, writer, false);
  });
  if (own != result.end()) {
    for (const FieldPath& path : diff.removed) own->fields.erase(path);
    own->fields.insert(owned.begin(), owned.end());
    if (!lost.empty()) own->time = writer.time;
  } else if (!owned.empty()) {
    result.push_back({writer.manager, false, writer.subresource, writer.time, owned});
  }
  drop_empty(result);
  return result;
}

Json managed_fields_json(const Kind& kind, const ManagerEntries& managers) {
  Json list = Json::array();
  for (const ManagerEntry& entry : managers) {
    Json item = {
        {"manager", entry.manager},         {"operation", entry.is_apply ? "Apply" : "Update"},
        {"apiVersion", kind.api_version()}, {"time", entry.time},
        {"fieldsType", "FieldsV1"},         {"fieldsV1", fields_v1(entry.fields)}};
    if (!entry.subresource.empty()) item["subresource"] = entry.subresource;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace kantha::fake
