#include "operator/serving/model_serving_from_yaml.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "base/yaml_document.h"
#include "operator/serving/model_serving_from_json.h"
#include "operator/serving/validate.h"

namespace kantha::serving {
namespace {

/// Beyond this a file is not a typo away from being right.
constexpr std::size_t kProblemsShownMax = 100;

ModelServingFile failed(std::vector<PlacedProblem> problems) {
  std::sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) {
    return std::tie(a.line, a.problem.path) < std::tie(b.line, b.problem.path);
  });
  if (problems.size() > kProblemsShownMax) problems.resize(kProblemsShownMax);
  return {std::nullopt, std::move(problems)};
}

ModelServingFile failed(const std::string& file, int line, std::string message) {
  return failed({{{"", std::move(message)}, file, line}});
}

bool is_inside(const std::string& path, const std::string& outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || outer.empty() ||
                                     path[outer.size()] == '.' || path[outer.size()] == '[');
}

/// Rules are judged on defaults where a type was wrong; what they say about such a field, or about
/// one around or inside it, would be noise.
Problems without_repeats(Problems shape, const Problems& rules) {
  const std::size_t shape_count = shape.size();
  for (const Problem& rule : rules) {
    const bool told = std::any_of(shape.begin(), shape.begin() + shape_count, [&](const auto& p) {
      return is_inside(rule.path, p.path) || is_inside(p.path, rule.path);
    });
    if (!told) shape.push_back(rule);
  }
  return shape;
}

}  // namespace

std::string PlacedProblem::to_string() const {
  std::string out = problem.path.empty() ? std::string() : problem.path + ": ";
  out += problem.message + " (" + file;
  if (line > 0) out += ":" + std::to_string(line);
  return out + ")";
}

std::string ModelServingFile::problem_text() const {
  std::string out;
  for (const PlacedProblem& problem : problems) out += problem.to_string() + "\n";
  return out;
}

ModelServingFile model_serving_from_yaml(std::string_view text, const std::string& file) {
  const YamlText yaml = read_yaml(text);
  if (!yaml.problems.empty()) {
    std::vector<PlacedProblem> problems;
    for (const YamlProblem& found : yaml.problems) {
      problems.push_back({found.problem, file, found.line});
    }
    return failed(std::move(problems));
  }
  if (yaml.documents.empty()) {
    return failed(file, 0, "the file is empty; expected one ModelServing");
  }
  if (yaml.documents.size() > 1) {
    return failed(file, yaml.documents[1].line,
                  "expected one document, got " + std::to_string(yaml.documents.size()) +
                      "; the second begins here");
  }
  const YamlDocument& document = yaml.documents.front();
  Problems shape;
  ModelServing serving = model_serving_from_json(document.root, UnknownFields::kRefuse, shape);
  const Problems all = without_repeats(std::move(shape), validate(serving));
  if (all.empty()) return {std::move(serving), {}};
  std::vector<PlacedProblem> placed;
  for (const Problem& problem : all) {
    placed.push_back({problem, file, document.line_of(problem.path)});
  }
  return failed(std::move(placed));
}

ModelServingFile read_model_serving_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return failed(path, 0, "no such file");
  if (std::filesystem::is_directory(status)) {
    return failed(path, 0, "is a folder; expected a YAML file");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return failed(path, 0, std::string("cannot be read: ") + std::strerror(errno));
  // One byte beyond the limit is enough for the reader to see and to name it.
  std::string text(YamlLimits{}.bytes_max + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return failed(path, 0, "cannot be read");
  return model_serving_from_yaml(text, path);
}

}  // namespace kantha::serving
