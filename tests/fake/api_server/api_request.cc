#include "tests/fake/api_server/api_request.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json_text.h"

namespace kantha::fake {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
                       hex_value(text[i + 2]) >= 0;
    if (coded) {
      result += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void read_query(std::string_view query, ApiRequest& request) {
  for (const std::string& part : split(query, '&')) {
    const std::size_t equal = part.find('=');
    const std::string name = decoded(part.substr(0, equal), true);
    const std::string value = equal == std::string::npos ? "" : part.substr(equal + 1);
    request.query[name] = decoded(value, true);
  }
}

void read_path(std::string_view path, ApiRequest& request) {
  std::vector<std::string> parts = split(path, '/');
  for (std::string& part : parts) part = decoded(part, false);
  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    request.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    request.group = parts[1];
    request.version = parts[2];
    at = 3;
  } else {
    return;
  }
  const bool scoped = parts[at] == "namespaces" && parts.size() >= at + 3 &&
                      parts[at + 2] != "status" && parts[at + 2] != "finalize";
  if (scoped) {
    request.name_space = parts[at + 1];
    at += 2;
  }
  request.plural = parts[at];
  if (parts.size() > at + 1) request.name = parts[at + 1];
  if (parts.size() > at + 2) request.subresource = parts[at + 2];
}

std::string verb_of(const std::string& method, const ApiRequest& request) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return request.name.empty() ? "deletecollection" : "delete";
  if (request.flag("watch")) return "watch";
  return request.name.empty() ? "list" : "get";
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Requirements are separated by commas outside of parentheses.
std::vector<std::string> requirements(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

bool holds(const std::string& requirement, const Json& labels) {
  const auto value_of = [&](const std::string& name) {
    return labels.is_object() && labels.contains(name) ? labels[name].get<std::string>()
                                                       : std::string("\x01");
  };
  for (const char* word : {" notin ", " in "}) {
    const std::size_t at = requirement.find(word);
    if (at == std::string::npos) continue;
    const std::string value = value_of(trimmed(requirement.substr(0, at)));
    const std::size_t open = requirement.find('(', at);
    bool found = false;
    for (const std::string& item :
         split(requirement.substr(open + 1, requirement.find(')') - open - 1), ',')) {
      if (trimmed(item) == value) found = true;
    }
    return found == (std::string_view(word) == " in ");
  }
  if (const std::size_t at = requirement.find("!="); at != std::string::npos) {
    return value_of(trimmed(requirement.substr(0, at))) != trimmed(requirement.substr(at + 2));
  }
  if (const std::size_t at = requirement.find('='); at != std::string::npos) {
    const std::size_t end = requirement.find_first_not_of('=', at);
    const std::string wanted = end == std::string::npos ? "" : trimmed(requirement.substr(end));
    return value_of(trimmed(requirement.substr(0, at))) == wanted;
  }
  if (requirement.starts_with("!")) return !labels.contains(trimmed(requirement.substr(1)));
  return labels.is_object() && labels.contains(requirement);
}

}  // namespace

ApiRequest parse_api_request(const net::HttpRequest& http) {
  ApiRequest request;
  request.path = std::string(http.path());
  read_query(http.query(), request);
  read_path(http.path(), request);
  request.verb = verb_of(http.method, request);
  request.body = http.body;
  request.content_type = std::string(http.headers.find("Content-Type").value_or(""));
  request.content_type = request.content_type.substr(0, request.content_type.find(';'));
  const std::string agent(http.headers.find("User-Agent").value_or("unknown"));
  request.manager = request.option("fieldManager");
  if (request.manager.empty()) request.manager = agent.substr(0, agent.find('/'));
  request.user = agent.substr(0, agent.find('/'));
  return request;
}

bool LabelSelector::matches(const Json& object) const {
  if (text_.empty()) return true;
  const Json& metadata = object.at("metadata");
  const auto labels = metadata.find("labels");
  const Json none = Json::object();
  for (const std::string& requirement : requirements(text_)) {
    if (requirement.empty()) continue;
    if (!holds(requirement, labels == metadata.end() ? none : *labels)) return false;
  }
  return true;
}

bool matches_field_selector(const std::string& selector, const Json& object) {
  for (const std::string& part : split(selector, ',')) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos) continue;
    const std::string value = part.substr(part.find_first_not_of('=', at));
    const Json& metadata = object.at("metadata");
    if (part.starts_with("metadata.name=") && metadata.value("name", "") != value) return false;
    if (part.starts_with("metadata.namespace=") && metadata.value("namespace", "") != value) {
      return false;
    }
    constexpr std::string_view kInvolved = "involvedObject.";
    if (!part.starts_with(kInvolved)) continue;
    const std::string field = part.substr(kInvolved.size(), at - kInvolved.size());
    if (text_at(object, "involvedObject", field.c_str()) != value) return false;
  }
  return true;
}

}  // namespace kantha::fake
