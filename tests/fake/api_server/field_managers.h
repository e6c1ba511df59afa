#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "tests/fake/api_server/field_set.h"

/// Who owns which fields, and what an apply does by it. Pure.
/// Source: Kubernetes docs, "Server-Side Apply" (conflicts, force, dropped fields).
namespace kantha::fake {

struct ManagerEntry {
  std::string manager;
  bool is_apply = false;
  std::string subresource;
  std::string time;
  FieldSet fields;
};
using ManagerEntries = std::vector<ManagerEntry>;

/// Who writes, and through which door.
struct Writer {
  std::string manager;
  std::string subresource;
  std::string time;  ///< RFC 3339
};

struct ApplyConflict {
  ManagerEntry owner;
  FieldPath path;
};

struct Applied {
  Json object;
  ManagerEntries managers = {};
  std::vector<ApplyConflict> conflicts = {};  ///< not empty: nothing may be written
};

/// Applies `config` for the writer to `live` (an empty object when there is none yet).
Applied apply_config(const Kind& kind, const Json& live, const ManagerEntries& managers,
                     const Json& config, const Writer& writer, bool force);
/// Ownership after a write that is no apply: what it changed is the writer's alone.
ManagerEntries managers_after_update(const Kind& kind, const Json& before, const Json& after,
                                     const ManagerEntries& managers, const Writer& writer);
/// metadata.managedFields.
Json managed_fields_json(const Kind& kind, const ManagerEntries& managers);

}  // namespace kantha::fake
