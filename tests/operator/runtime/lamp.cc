#include "tests/operator/runtime/lamp.h"

#include <stdexcept>

namespace kantha::runtime {

Result<Lamp> decode_lamp(const Json& object) {
  TRY(auto meta, kube::object_meta_from_json(object));
  if (object.value("explodes", false)) throw std::runtime_error("a decoder's trouble");
  if (!object.contains("color")) return invalid_argument("missing", "color");
  return Lamp{std::move(meta), object.at("color").get<std::string>()};
}

Json lamp(const std::string& name, const std::string& uid, int version, const std::string& color) {
  return {{"metadata",
           {{"namespace", "home"},
            {"name", name},
            {"uid", uid},
            {"resourceVersion", std::to_string(version)}}},
          {"color", color}};
}

}  // namespace kantha::runtime
