#include "operator/serving/cluster_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "operator/serving/children.h"
#include "operator/serving/field_reader.h"

namespace kantha::serving {
namespace {

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_letter_or_digit(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

/// At most 63 letters, digits, '-', '_' and '.', with letters or digits at the ends.
bool is_label_text(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (!is_letter_or_digit(text.front()) || !is_letter_or_digit(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  });
}

bool is_image_reference(std::string_view text) {
  if (text.empty() || !is_letter_or_digit(text.front())) return false;
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; });
}

bool has_parent_part(std::string_view path) {
  return ("/" + std::string(path) + "/").find("/../") != std::string::npos;
}

class Rules {
 public:
  explicit Rules(const ModelServing& serving) : serving_(serving) {}

  Problems take() {
    judge_name();
    judge_source();
    judge_names();
    judge_scheduling();
    return std::move(problems_);
  }

 private:
  void add(std::string path, std::string message) {
    problems_.push_back({std::move(path), std::move(message)});
  }

  void judge_name() {
    const std::string& name = serving_.metadata.name;
    const bool first = !name.empty() && name.front() >= 'a' && name.front() <= 'z';
    if (name.size() <= kNameMax && first) return;
    add("metadata.name",
        "expected at most 50 lower-case letters, digits and '-', beginning with a letter, because "
        "pods, Services and labels are named after it, got " +
            shown_value(Json(name)) + " with " + std::to_string(name.size()) + " characters");
  }

  void relative_file(const std::string& path, const std::string& value) {
    if (!value.starts_with('/') && !value.ends_with('/') && !has_parent_part(value)) return;
    add(path,
        "expected the path of a file from the root of the volume, without a leading '/' and "
        "without '..', got " +
            shown_value(Json(value)));
  }

  void judge_source() {
    const ModelSource& source = serving_.spec.model.source;
    const std::string path = "spec.model.source.";
    if (source.host_path) {
      const std::string& file = *source.host_path;
      if (!file.starts_with('/') || file.ends_with('/') || has_parent_part(file)) {
        add(path + "hostPath",
            "expected the absolute path of a file, without '..', got " + shown_value(Json(file)));
      }
    }
    if (source.pvc) {
      object_name(path + "pvc.claimName", "a PersistentVolumeClaim", source.pvc->claim_name);
      relative_file(path + "pvc.path", source.pvc->path);
    }
    if (source.image) {
      image_reference(path + "image.reference", source.image->reference);
      relative_file(path + "image.path", source.image->path);
    }
  }

  void object_name(const std::string& path, const char* what, const std::string& value) {
    if (value.empty() || is_object_name(value)) return;
    add(path, std::string("expected the name of ") + what + ", got " + shown_value(Json(value)));
  }

  void image_reference(const std::string& path, const std::string& value) {
    if (value.empty() || is_image_reference(value)) return;
    add(path, "expected an image reference without blanks, got " + shown_value(Json(value)));
  }

  void judge_names() {
    const ModelServingSpec& spec = serving_.spec;
    image_reference("spec.engine.image", spec.engine.image);
    const std::string& device = spec.resources.accelerator.resource_name;
    const bool own =
        device.starts_with("kubernetes.io/") || device.find(".kubernetes.io/") != std::string::npos;
    if (!is_qualified_name(device) || device.find('/') == std::string::npos || own) {
      add("spec.resources.accelerator.resourceName",
          "expected an extended resource, domain/name, as in nvidia.com/gpu, got " +
              shown_value(Json(device)));
    }
    object_name("spec.scheduling.priorityClassName", "a PriorityClass",
                spec.scheduling.priority_class_name);
    object_name("spec.rollout.gates.goldenPrompts.configMap", "a ConfigMap",
                spec.rollout.gates.golden_prompts_config_map);
    object_name("spec.gateway.authSecret", "a Secret", spec.gateway.auth_secret);
  }

  void label_name(const std::string& path, const std::string& value) {
    if (is_qualified_name(value)) return;
    add(path, "expected a label name, as in kubernetes.io/arch, got " + shown_value(Json(value)));
  }

  void judge_scheduling() {
    const SchedulingSpec& scheduling = serving_.spec.scheduling;
    for (const auto& [key, value] : scheduling.node_selector) {
      label_name("spec.scheduling.nodeSelector", key);
      if (value.empty() || is_label_text(value)) continue;
      add("spec.scheduling.nodeSelector",
          "expected a label value for " + key + ", got " + shown_value(Json(value)));
    }
    for (std::size_t i = 0; i < scheduling.tolerations.size(); ++i) {
      const Toleration& entry = scheduling.tolerations[i];
      const std::string path = "spec.scheduling.tolerations[" + std::to_string(i) + "].";
      if (!entry.key.empty()) label_name(path + "key", entry.key);
      if (entry.toleration_seconds && entry.effect != "NoExecute") {
        add(path + "tolerationSeconds", "is for effect NoExecute only");
      }
    }
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < scheduling.topology_spread_constraints.size(); ++i) {
      const TopologySpread& entry = scheduling.topology_spread_constraints[i];
      const std::string path =
          "spec.scheduling.topologySpreadConstraints[" + std::to_string(i) + "]";
      label_name(path + ".topologyKey", entry.topology_key);
      if (!seen.emplace(entry.topology_key, entry.when_unsatisfiable).second) {
        add(path, "another entry has the same topologyKey and whenUnsatisfiable");
      }
    }
  }

  const ModelServing& serving_;
  Problems problems_;
};

}  // namespace

bool is_object_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  if (!is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-' || c == '.'; });
}

bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_text(text);
  return is_object_name(text.substr(0, slash)) && is_label_text(text.substr(slash + 1));
}

Problems cluster_problems(const ModelServing& serving) { return Rules(serving).take(); }

}  // namespace kantha::serving
