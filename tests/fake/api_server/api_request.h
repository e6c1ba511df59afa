#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/net/http.h"

/// A request to an API server, taken apart. Pure.
/// Source: Kubernetes docs, "API Concepts", "Resource URIs".
namespace kantha::fake {

struct ApiRequest {
  std::string verb;  ///< get list watch create update patch delete deletecollection
  std::string group;
  std::string version;
  std::string plural;  ///< empty: no resource path ("/version", "/apis")
  std::string name_space;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;
  std::string content_type;
  std::string manager;  ///< fieldManager, else the User-Agent up to '/'
  std::string user;     ///< for messages of access rules
  std::string body;
  std::string path;

  std::string option(const std::string& key) const {
    const auto found = query.find(key);
    return found == query.end() ? std::string() : found->second;
  }
  bool flag(const std::string& key) const { return option(key) == "true" || option(key) == "1"; }
  /// "namespace/name", the key in the store.
  std::string object_path() const { return name_space.empty() ? name : name_space + "/" + name; }
};

ApiRequest parse_api_request(const net::HttpRequest& request);

/// Equality-based and set-based label selectors.
class LabelSelector {
 public:
  explicit LabelSelector(std::string text) : text_(std::move(text)) {}
  bool matches(const Json& object) const;
  bool is_everything() const { return text_.empty(); }

 private:
  std::string text_;
};

/// metadata.name=x and metadata.namespace=y, the field selectors that every kind has.
bool matches_field_selector(const std::string& selector, const Json& object);

}  // namespace kantha::fake
