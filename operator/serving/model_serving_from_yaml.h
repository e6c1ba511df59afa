#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "operator/serving/types.h"

/// A ModelServing from a file that a person wrote. Any thread.
namespace kantha::serving {

/// One complaint with its place, ready to print.
struct PlacedProblem {
  Problem problem;
  std::string file;
  int line = 0;  ///< 0 when no line applies
  /// `spec.replicas: expected an integer, got "two" (examples/x.yaml:9)`
  std::string to_string() const;
};

/// The object, or every problem of the file in the order of its lines; never both.
struct ModelServingFile {
  std::optional<ModelServing> serving;
  std::vector<PlacedProblem> problems;

  bool ok() const { return serving.has_value(); }
  /// All problems, one a line.
  std::string problem_text() const;
};

/// Reads text that holds exactly one ModelServing document, and validates it. `file` is only for
/// messages.
ModelServingFile model_serving_from_yaml(std::string_view text, const std::string& file);

/// The same from a file of at most 1 MiB; a file that cannot be read is a problem without a line.
ModelServingFile read_model_serving_file(const std::string& path);

}  // namespace kantha::serving
