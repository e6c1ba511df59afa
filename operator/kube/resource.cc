#include "operator/kube/resource.h"

namespace kantha::kube {
namespace {

/// Percent-encodes what is not unreserved (RFC 3986, section 2.3).
void append_segment(std::string& path, std::string_view segment) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  path += '/';
  for (const char c : segment) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      path += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    path += '%';
    path += kHex[byte >> 4];
    path += kHex[byte & 15];
  }
}

}  // namespace

std::string ObjectKey::to_string() const {
  return name_space.empty() ? name : name_space + "/" + name;
}

std::string Resource::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::collection_path(std::string_view name_space) const {
  std::string path = group.empty() ? "/api" : "/apis";
  if (!group.empty()) append_segment(path, group);
  append_segment(path, version);
  if (is_namespaced && !name_space.empty()) {
    path += "/namespaces";
    append_segment(path, name_space);
  }
  append_segment(path, plural);
  return path;
}

std::string Resource::object_path(const ObjectKey& key, std::string_view subresource) const {
  std::string path = collection_path(key.name_space);
  append_segment(path, key.name);
  if (!subresource.empty()) append_segment(path, subresource);
  return path;
}

}  // namespace kantha::kube
