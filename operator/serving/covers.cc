#include "operator/serving/covers.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

/// What an absent part of a list map's key stands for.
struct KeyPart {
  std::string_view name;
  std::string_view absent = {};
};

/// A list that the API server merges by key.
struct ListMap {
  std::string_view list;    ///< name of the field that holds it
  std::string_view parent;  ///< name of the field around that; empty: any
  std::vector<KeyPart> keys;
};

/// Source: x-kubernetes-list-map-keys in the OpenAPI document of Kubernetes 1.37, for the kinds
/// that we write.
const std::vector<ListMap>& list_maps() {
  static const std::vector<ListMap> maps = {
      {"containers", "", {{"name"}}},
      {"initContainers", "", {{"name"}}},
      {"volumes", "", {{"name"}}},
      {"env", "", {{"name"}}},
      {"volumeMounts", "", {{"mountPath"}}},
      {"imagePullSecrets", "", {{"name"}}},
      {"ownerReferences", "", {{"uid"}}},
      {"topologySpreadConstraints", "", {{"topologyKey"}, {"whenUnsatisfiable"}}},
      {"conditions", "", {{"type"}}},
      {"ports", "spec", {{"port"}, {"protocol", "TCP"}}},
      {"ports", "containers", {{"containerPort"}, {"protocol", "TCP"}}},
  };
  return maps;
}

const ListMap* list_map_of(std::string_view list, std::string_view parent) {
  for (const ListMap& map : list_maps()) {
    if (map.list == list && (map.parent.empty() || map.parent == parent)) return &map;
  }
  return nullptr;
}

template <class J>
std::string key_text(const J& entry, const ListMap& map) {
  std::string out;
  for (const KeyPart& part : map.keys) {
    const auto found = entry.is_object() ? entry.find(std::string(part.name)) : entry.end();
    const bool present = entry.is_object() && found != entry.end();
    out += present ? dump_json(*found) : "\"" + std::string(part.absent) + "\"";
    out += '\n';
  }
  return out;
}

/// Walks both documents; `name` and `parent` are the fields that led here.
class Comparison {
 public:
  bool covered(const Json& live, const OrderedJson& wanted, std::string_view name,
               std::string_view parent) const {
    if (wanted.is_object()) return object_covered(live, wanted, name, parent);
    if (wanted.is_array()) return list_covered(live, wanted, name, parent);
    if (is_quantity(parent, name)) return same_quantity(live, wanted);
    return same_scalar(live, wanted);
  }

 private:
  static bool is_quantity(std::string_view parent, std::string_view name) {
    return parent == "requests" || parent == "limits" || name == "sizeLimit";
  }

  static std::string quantity_text(const auto& value) {
    return value.is_string() ? value.template get<std::string>() : dump_json(value);
  }

  static bool same_quantity(const Json& live, const OrderedJson& wanted) {
    const std::string left = quantity_text(live);
    const std::string right = quantity_text(wanted);
    if (left == right) return true;
    const auto a = quantity_milli(left);
    const auto b = quantity_milli(right);
    return a.ok() && b.ok() && *a == *b;
  }

  static bool same_scalar(const Json& live, const OrderedJson& wanted) {
    if (live.is_number() && wanted.is_number()) {
      // A whole number may come back without its ".0".
      if (live.is_number_float() || wanted.is_number_float()) {
        return live.get<double>() == wanted.get<double>();
      }
    }
    return dump_json(live) == dump_json(wanted);
  }

  /// A selector is one thing: a key of somebody else's in it would select fewer pods, or none.
  static bool is_whole(std::string_view name, std::string_view parent) {
    return (name == "selector" && parent == "spec") ||
           (name == "matchLabels" && parent == "selector");
  }

  /// What the server drops because it is what absence means.
  static bool is_absence(std::string_view key, const OrderedJson& value) {
    if (value.is_null() || (value.is_object() && value.empty())) return true;
    return key == "publishNotReadyAddresses" && value == false;
  }

  bool object_covered(const Json& live, const OrderedJson& wanted, std::string_view name,
                      std::string_view parent) const {
    if (!live.is_object()) return false;
    if (is_whole(name, parent) && live.size() != wanted.size()) return false;
    return std::all_of(wanted.items().begin(), wanted.items().end(), [&](const auto& entry) {
      const std::string& key = entry.key();
      if (key == "stringData") return true;
      const OrderedJson& value = entry.value();
      const auto found = live.find(key);
      // Items of a list carry neither; what an object is, its place on the server says.
      const bool is_type = name.empty() && (key == "apiVersion" || key == "kind");
      if (found == live.end() && is_type) return true;
      if (found == live.end()) return is_absence(key, value);
      return covered(*found, value, key, name);
    });
  }

  bool list_covered(const Json& live, const OrderedJson& wanted, std::string_view name,
                    std::string_view parent) const {
    if (!live.is_array()) return false;
    if (const ListMap* map = list_map_of(name, parent)) return map_covered(live, wanted, *map);
    // finalizers are a set; admission adds tolerations of its own.
    if (name == "finalizers" || name == "tolerations") {
      return std::all_of(wanted.begin(), wanted.end(), [&](const OrderedJson& entry) {
        return std::any_of(live.begin(), live.end(),
                           [&](const Json& have) { return covered(have, entry, "entry", name); });
      });
    }
    if (live.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!covered(live[i], wanted[i], name, parent)) return false;
    }
    return true;
  }

  bool map_covered(const Json& live, const OrderedJson& wanted, const ListMap& map) const {
    return std::all_of(wanted.begin(), wanted.end(), [&](const OrderedJson& entry) {
      const std::string key = key_text(entry, map);
      const auto found = std::find_if(live.begin(), live.end(), [&](const Json& candidate) {
        return key_text(candidate, map) == key;
      });
      return found != live.end() && covered(*found, entry, map.list, {});
    });
  }
};

}  // namespace

bool covers(const Json& live, const OrderedJson& wanted) {
  return Comparison().covered(live, wanted, {}, {});
}

}  // namespace kantha::serving
