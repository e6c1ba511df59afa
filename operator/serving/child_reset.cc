#include "operator/serving/child_reset.h"

#include <string>

namespace kantha::serving {
namespace {

/// What an API server allocates to a Service at its creation.
constexpr const char* kAllocated[] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};

template <class J>
std::string text_of(const J& object, const char* section, const char* name) {
  const auto found = object.is_object() ? object.find(section) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_object()) return {};
  const auto value = found->find(name);
  return value != found->end() && value->is_string() ? value->template get<std::string>()
                                                     : std::string();
}

/// A Service of type ExternalName has no address, and may get any.
bool has_address_kind(const Json& live) {
  return text_of(live, "spec", "type") != "ExternalName" &&
         !text_of(live, "spec", "clusterIP").empty();
}

bool is_service(const OrderedJson& wanted) {
  return wanted.is_object() && wanted.value("kind", "") == "Service";
}

}  // namespace

OrderedJson render_child_reset(const Json& live, const OrderedJson& wanted) {
  OrderedJson spec = wanted.at("spec");
  if (is_service(wanted) && has_address_kind(live)) {
    for (const char* name : kAllocated) {
      const auto found = live.at("spec").find(name);
      if (found != live.at("spec").end() && !spec.contains(name)) spec[name] = OrderedJson(*found);
    }
  }
  OrderedJson out = OrderedJson::array();
  out.push_back(
      {{"op", "test"}, {"path", "/metadata/uid"}, {"value", text_of(live, "metadata", "uid")}});
  // A replaced resourceVersion is a precondition: the write is a conflict when it has moved on.
  out.push_back({{"op", "replace"},
                 {"path", "/metadata/resourceVersion"},
                 {"value", text_of(live, "metadata", "resourceVersion")}});
  out.push_back({{"op", "add"}, {"path", "/spec"}, {"value", std::move(spec)}});
  return out;
}

bool must_be_remade(const Json& live, const OrderedJson& wanted) {
  if (!is_service(wanted) || !has_address_kind(live)) return false;
  const bool is_headless = text_of(live, "spec", "clusterIP") == "None";
  return is_headless != (text_of(wanted, "spec", "clusterIP") == "None");
}

}  // namespace kantha::serving
