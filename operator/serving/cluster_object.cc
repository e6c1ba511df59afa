#include "operator/serving/cluster_object.h"

#include <utility>
#include <vector>

#include "operator/serving/cluster_rules.h"
#include "operator/serving/model_serving_from_json.h"
#include "operator/serving/validate.h"

namespace kantha::serving {
namespace {

/// About what a scalar takes as text.
std::size_t scalar_bytes(const Json& json) {
  return json.is_string() ? json.get_ref<const std::string&>().size() + 2 : 8;
}

/// Keeps what begins with our group.
void keep_ours(std::map<std::string, std::string>& entries) {
  std::erase_if(entries, [](const auto& entry) {
    return !entry.first.starts_with(std::string(kGroup) + "/");
  });
}

std::string status_text(const Json& object) {
  const auto status = object.find("status");
  return status == object.end() || !status->is_object() ? "{}" : dump_json(*status);
}

}  // namespace

bool json_fits(const Json& json, std::size_t bytes_max, std::size_t depth_max) {
  struct Level {
    const Json* json;
    std::size_t depth;
  };
  std::vector<Level> open{{&json, 1}};
  std::size_t bytes = 0;
  while (!open.empty()) {
    const auto [value, depth] = open.back();
    open.pop_back();
    if (depth > depth_max) return false;
    bytes += value->is_structured() ? 2 : scalar_bytes(*value);
    // Each entry takes a byte at least, so a huge list is refused before it is queued.
    if (bytes > bytes_max || (value->is_structured() && bytes + value->size() > bytes_max)) {
      return false;
    }
    if (value->is_object()) {
      for (auto it = value->begin(); it != value->end(); ++it) {
        bytes += it.key().size() + 4;
        open.push_back({&it.value(), depth + 1});
      }
    } else if (value->is_array()) {
      for (const Json& entry : *value) open.push_back({&entry, depth + 1});
    }
  }
  return bytes <= bytes_max;
}

Result<ClusterServing> cluster_serving_from_json(const Json& object) {
  if (!json_fits(object, kObjectBytesMax, kObjectDepthMax)) {
    return Error{Code::kOutOfRange, "the object has more than 1.5 MiB or 64 levels"};
  }
  ClusterServing out;
  TRY(out.meta, kube::object_meta_from_json(object));
  keep_ours(out.meta.labels);
  keep_ours(out.meta.annotations);
  out.serving = model_serving_from_json(object, UnknownFields::kIgnore, out.problems);
  out.serving.metadata.labels.clear();
  out.serving.metadata.annotations.clear();
  if (out.problems.empty()) {
    out.problems = validate(out.serving);
    for (Problem& problem : cluster_problems(out.serving)) {
      out.problems.push_back(std::move(problem));
    }
  }
  out.status = status_text(object);
  out.status.shrink_to_fit();
  return out;
}

Json status_from_text(const std::string& text) {
  Result<Json> status = parse_json(text);
  return status.ok() && status->is_object() ? std::move(status).value() : Json::object();
}

}  // namespace kantha::serving
