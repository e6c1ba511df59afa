#include "operator/metricsapi/discovery.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/net/json_answer.h"
#include "operator/metricsapi/metric_path.h"
#include "operator/metricsapi/metric_table.h"
#include "operator/metricsapi/metric_values.h"

namespace kantha::metricsapi {
namespace {

/// A group with its versions, the preferred one first: clients take the first that they know.
struct Group {
  const char* name;
  std::vector<const char*> versions;
};

std::vector<Group> groups_of(bool has_external) {
  std::vector<Group> out = {{kMetricsGroup, {"v1beta2", "v1beta1"}}};
  if (has_external) out.push_back({kExternalGroup, {kExternalVersion}});
  return out;
}

struct Parent {
  const char* resource;
  const char* kind;
  const char* group;
  const char* version;
};
constexpr std::array<Parent, 2> kParents = {
    Parent{"pods", "Pod", "", "v1"},
    Parent{"modelservings.serving.kantha.dev", "ModelServing", kServingGroup, "v1alpha1"}};

Json group_json(const Group& group) {
  Json versions = Json::array();
  for (const char* version : group.versions) {
    versions.push_back(
        {{"groupVersion", std::string(group.name) + "/" + version}, {"version", version}});
  }
  const Json preferred = versions[0];
  return {{"name", group.name}, {"versions", versions}, {"preferredVersion", preferred}};
}

Json with_kind(const char* kind, Json body) {
  body["kind"] = kind;
  body["apiVersion"] = "v1";
  return body;
}

Json resource(const std::string& name, const char* kind) {
  return {{"name", name},
          {"singularName", ""},
          {"namespaced", true},
          {"kind", kind},
          {"verbs", {"get"}}};
}

Json resource_list(const Group& group, const std::string& version) {
  Json resources = Json::array();
  if (group.name == std::string_view(kExternalGroup)) {
    for (const std::string_view metric : kMetricNames) {
      resources.push_back(resource(std::string(metric), "ExternalMetricValueList"));
    }
  } else {
    for (const Parent& parent : kParents) {
      for (const std::string_view metric : kMetricNames) {
        resources.push_back(
            resource(std::string(parent.resource) + "/" + std::string(metric), "MetricValueList"));
      }
    }
  }
  return with_kind("APIResourceList", {{"groupVersion", std::string(group.name) + "/" + version},
                                       {"resources", resources}});
}

Json response_kind(const char* group, const char* version, const char* kind) {
  return {{"group", group}, {"version", version}, {"kind", kind}};
}

/// One version in the aggregated document: metrics are subresources of what they are of.
Json aggregated_version(const char* version) {
  Json resources = Json::array();
  for (const Parent& parent : kParents) {
    Json metrics = Json::array();
    for (const std::string_view metric : kMetricNames) {
      metrics.push_back({{"subresource", metric},
                         {"responseKind", response_kind(kMetricsGroup, version, "MetricValueList")},
                         {"verbs", {"get"}}});
    }
    resources.push_back({{"resource", parent.resource},
                         {"responseKind", response_kind(parent.group, parent.version, parent.kind)},
                         {"scope", "Namespaced"},
                         {"singularResource", ""},
                         {"verbs", Json::array()},
                         {"subresources", metrics}});
  }
  return {{"version", version}, {"resources", resources}, {"freshness", "Current"}};
}

/// External metrics are of nothing: each is a resource.
Json aggregated_external(const char* version) {
  Json resources = Json::array();
  for (const std::string_view metric : kMetricNames) {
    resources.push_back(
        {{"resource", metric},
         {"responseKind", response_kind(kExternalGroup, version, "ExternalMetricValueList")},
         {"scope", "Namespaced"},
         {"singularResource", ""},
         {"verbs", {"get"}}});
  }
  return {{"version", version}, {"resources", resources}, {"freshness", "Current"}};
}

Json aggregated(const std::string& api_version, bool has_external) {
  Json items = Json::array();
  for (const Group& group : groups_of(has_external)) {
    const bool is_external = group.name == std::string_view(kExternalGroup);
    Json versions = Json::array();
    for (const char* version : group.versions) {
      versions.push_back(is_external ? aggregated_external(version) : aggregated_version(version));
    }
    items.push_back({{"metadata", {{"name", group.name}}}, {"versions", versions}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/" + api_version},
          {"metadata", Json::object()},
          {"items", items}};
}

std::string accept_of(const net::HttpRequest& request) {
  std::string out(request.headers.find("Accept").value_or("*/*"));
  std::erase(out, ' ');
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// The version of aggregated discovery that the client prefers, or an empty text. The clauses of
/// such clients stand in the order of their preference.
std::string aggregated_wanted(const std::string& accept) {
  std::size_t from = 0;
  while (from <= accept.size()) {
    const std::size_t comma = std::min(accept.find(',', from), accept.size());
    const std::string_view clause = std::string_view(accept).substr(from, comma - from);
    const bool is_json = clause.starts_with("application/json");
    const bool is_list = clause.find(";as=apigroupdiscoverylist") != std::string_view::npos &&
                         clause.find(";g=apidiscovery.k8s.io") != std::string_view::npos;
    if (is_json && is_list) {
      if (clause.find(";v=v2beta1") != std::string_view::npos) return "v2beta1";
      if (clause.find(";v=v2") != std::string_view::npos) return "v2";
    }
    if (is_json && clause.find(";as=") == std::string_view::npos) return {};
    from = comma + 1;
  }
  return {};
}

net::HttpResponse document(const net::HttpRequest& request, const Json& body,
                           const std::string& type = "application/json") {
  net::HttpResponse out = net::json_answer(200, body);
  out.headers.set("Content-Type", type);
  out.headers.set("Vary", "Accept");
  const std::string tag = "\"" + sha256_hex(out.body) + "\"";
  out.headers.set("ETag", tag);
  if (request.headers.find("If-None-Match") == tag) {
    out.status = 304;
    out.body.clear();
  }
  return out;
}

std::optional<Json> legacy_document(const std::string& path, bool has_external) {
  Json all = Json::array();
  for (const Group& group : groups_of(has_external)) {
    const std::string root = std::string("/apis/") + group.name;
    if (path == root) return with_kind("APIGroup", group_json(group));
    for (const char* version : group.versions) {
      if (path == root + "/" + version) return resource_list(group, version);
    }
    all.push_back(group_json(group));
  }
  if (path == "/apis") return with_kind("APIGroupList", {{"groups", all}});
  // What these paths take and give is in discovery; there are no types of ours to describe.
  const Json info = {{"title", "Kantha metrics"}, {"version", "v1beta2"}};
  if (path == "/openapi/v2") {
    return Json{{"swagger", "2.0"}, {"info", info}, {"paths", Json::object()}};
  }
  if (path == "/openapi/v3") return Json{{"paths", Json::object()}};
  return std::nullopt;
}

}  // namespace

bool accepts_json(const net::HttpRequest& request) {
  const std::string accept = accept_of(request);
  for (const char* taken : {"*/*", "application/*", "application/json"}) {
    if (accept.find(taken) != std::string::npos) return true;
  }
  return false;
}

std::optional<net::HttpResponse> answer_discovery(const net::HttpRequest& request,
                                                  const std::string& path, bool has_external) {
  std::string plain = path;
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  const std::optional<Json> legacy = legacy_document(plain, has_external);
  if (!legacy) return std::nullopt;
  if (!accepts_json(request)) {
    return failure_answer(406, "NotAcceptable", "only application/json can be given");
  }
  if (plain == "/apis") {
    const std::string version = aggregated_wanted(accept_of(request));
    if (!version.empty()) {
      return document(
          request, aggregated(version, has_external),
          "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList");
    }
  }
  return document(request, *legacy);
}

}  // namespace kantha::metricsapi
