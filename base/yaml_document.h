#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/problem.h"
#include "base/result.h"

/// YAML text from people, read strictly into JSON with the line of every value. yaml-cpp stays
/// behind this page; none of its exceptions and none of its surprises leave it.
///
/// The subset is what Kubernetes takes, read as YAML 1.2's core schema:
///   - plain true and false are booleans; yes, no, on, off, y and n are strings
///   - plain 12 and -3 are integers, 1.5 and 1e3 are numbers; quoted scalars are always strings
///   - plain 010 (octal to some readers, 10 to others) is refused; so are .inf and .nan
///   - null, ~ and nothing are null
///   - keys are strings; a key given twice is refused; so are merge keys (<<) and tags other than
///     !!str, !!int, !!float, !!bool, !!null, !!map, !!seq
///   - anchors and aliases work, but the document they unfold to is bounded by nodes_max
namespace kantha {

/// Bounds of one text.
struct YamlLimits {
  std::size_t bytes_max = 1u << 20;
  std::size_t depth_max = 64;
  std::size_t nodes_max = 20'000;
  std::size_t documents_max = 64;
};

/// One non-empty document of a text.
struct YamlDocument {
  Json root;
  int line = 1;                      ///< where it starts
  std::map<std::string, int> lines;  ///< path of each value ("spec.rings[0]") → its line

  /// Line of the value at the path, or of the nearest value around it.
  int line_of(const std::string& path) const;
};

/// Something wrong with the text, before any meaning is looked at.
struct YamlProblem {
  int line = 0;
  Problem problem;
};

/// What a text held. `documents` is complete only when `problems` is empty.
struct YamlText {
  std::vector<YamlDocument> documents;
  std::vector<YamlProblem> problems;
};

/// Reads every document of the text; documents that are empty or only comments are left out.
/// Never throws; time and memory are linear in the text and the limits. Any thread.
YamlText read_yaml(std::string_view text, const YamlLimits& limits = {});

/// Joins a path and a key: "spec" + "model" is "spec.model".
std::string yaml_path(const std::string& parent, std::string_view key);

}  // namespace kantha
