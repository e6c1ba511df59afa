#include "operator/kube/api_query.h"

#include <string_view>

namespace kantha::kube {
namespace {

/// Percent-encodes what is not unreserved (RFC 3986, section 2.3).
std::string encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kUnreservedMarks = "-._~";
  std::string out;
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9') || kUnreservedMarks.contains(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

/// Adds "?name=value" or "&name=value"; nothing for an empty value.
void add(std::string& target, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  target += target.contains('?') ? '&' : '?';
  target.append(name).append("=").append(encode(value));
}

}  // namespace

std::string list_target(const Resource& resource, const std::string& name_space,
                        const ListOptions& options) {
  std::string target = resource.collection_path(name_space);
  add(target, "labelSelector", options.label_selector);
  add(target, "fieldSelector", options.field_selector);
  if (options.limit > 0) add(target, "limit", std::to_string(options.limit));
  add(target, "continue", options.continue_token);
  // A token carries the version it was made at; servers refuse both.
  if (options.continue_token.empty()) {
    add(target, "resourceVersion", options.resource_version);
    add(target, "resourceVersionMatch", options.resource_version_match);
  }
  return target;
}

std::string watch_target(const Resource& resource, const std::string& name_space,
                         const WatchOptions& options) {
  std::string target = resource.collection_path(name_space);
  add(target, "watch", "true");
  add(target, "allowWatchBookmarks", "true");
  add(target, "labelSelector", options.label_selector);
  add(target, "resourceVersion", options.resource_version);
  if (options.send_initial_events) {
    add(target, "sendInitialEvents", "true");
    add(target, "resourceVersionMatch", "NotOlderThan");
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options.server_timeout).count();
  if (seconds > 0) add(target, "timeoutSeconds", std::to_string(seconds));
  return target;
}

std::string patch_target(const Resource& resource, const ObjectKey& key,
                         const PatchOptions& options) {
  std::string target = resource.object_path(key, options.subresource);
  if (options.kind == PatchKind::kApply) {
    add(target, "fieldManager", options.field_manager);
    if (options.force) add(target, "force", "true");
  }
  return target;
}

}  // namespace kantha::kube
