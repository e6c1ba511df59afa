#include "operator/metricsapi/label_selector.h"

#include <algorithm>
#include <cctype>

namespace kantha::metricsapi {
namespace {

constexpr std::size_t kRequirementsMax = 64;
constexpr std::size_t kSelectorBytesMax = 8u << 10;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text, bool may_be_empty) {
  if (text.empty()) return may_be_empty;
  return text.size() <= 317 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
         });
}

/// Splits at commas that are not within parentheses.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    out.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return out;
}

Error no_requirement(std::string_view part) {
  return invalid_argument(
      "label selector: expected key=value, key!=value, key in (…), key notin "
      "(…), key or !key, got \"" +
      std::string(part.substr(0, 100)) + "\"");
}

}  // namespace

Result<LabelSelector::Requirement> LabelSelector::requirement_of(std::string_view part) {
  Requirement out;
  std::string_view key = part;
  const std::size_t open = part.find('(');
  const std::size_t equal = part.find('=');
  if (open != std::string_view::npos) {
    if (part.back() != ')') return no_requirement(part);
    key = trimmed(part.substr(0, open));
    const std::size_t space = key.rfind(' ');
    const std::string_view word =
        space == std::string_view::npos ? std::string_view() : key.substr(space + 1);
    if (word != "in" && word != "notin") return no_requirement(part);
    out.wanted = word == "in";
    key = trimmed(key.substr(0, space));
    for (const std::string_view value : parts_of(part.substr(open + 1, part.size() - open - 2))) {
      if (!is_name(value, true)) return no_requirement(part);
      out.values.emplace_back(value);
    }
  } else if (equal != std::string_view::npos) {
    out.wanted = equal == 0 || part[equal - 1] != '!';
    key = trimmed(part.substr(0, out.wanted ? equal : equal - 1));
    std::string_view value = part.substr(equal + 1);
    if (out.wanted && value.starts_with('=')) value.remove_prefix(1);
    value = trimmed(value);
    if (!is_name(value, true)) return no_requirement(part);
    out.values.emplace_back(value);
  } else {
    out.any_value = true;
    out.wanted = !part.starts_with('!');
    if (!out.wanted) key = trimmed(part.substr(1));
  }
  if (!is_name(key, false)) return no_requirement(part);
  out.key = std::string(key);
  return out;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector out;
  if (text.size() > kSelectorBytesMax) return invalid_argument("label selector: is too long");
  if (trimmed(text).empty()) return out;
  for (const std::string_view part : parts_of(text)) {
    if (out.requirements_.size() >= kRequirementsMax) {
      return invalid_argument("label selector: has more than 64 requirements");
    }
    TRY(Requirement requirement, requirement_of(part));
    out.requirements_.push_back(std::move(requirement));
  }
  return out;
}

bool LabelSelector::selects(const std::map<std::string, std::string>& labels) const {
  return std::all_of(
      requirements_.begin(), requirements_.end(), [&](const Requirement& requirement) {
        const auto found = labels.find(requirement.key);
        const bool holds = found != labels.end() &&
                           (requirement.any_value ||
                            std::find(requirement.values.begin(), requirement.values.end(),
                                      found->second) != requirement.values.end());
        return holds == requirement.wanted;
      });
}

}  // namespace kantha::metricsapi
