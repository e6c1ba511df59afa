#include "operator/local/control_api.h"

#include "base/json_fields.h"
#include "operator/local/local_rules.h"
#include "operator/serving/types.h"

namespace kantha::local {
namespace {

net::HttpResponse json_answer(int status, const Json& body) {
  net::HttpResponse out;
  out.status = status;
  out.headers.set("Content-Type", "application/json");
  out.body = dump_json(body);
  return out;
}

net::HttpResponse failure(int status, const std::string& reason, const std::string& message) {
  return json_answer(status, {{"kind", "Status"},
                              {"apiVersion", "v1"},
                              {"status", "Failure"},
                              {"reason", reason},
                              {"message", message},
                              {"code", status}});
}

/// spec.replicas of a Scale object.
Result<std::int64_t> replicas_of(const std::string& body) {
  TRY(const Json json, parse_json(body));
  const JsonFields root(json, "");
  TRY_OK(root.check_object());
  TRY(const auto spec, root.object("spec"));
  if (!spec) return invalid_argument("spec: is required");
  TRY(const auto replicas, spec->integer("replicas", 0, kLocalReplicasMax));
  if (!replicas) return invalid_argument("spec.replicas: is required");
  return *replicas;
}

Json scale_object(const ControlTarget& target, std::int64_t replicas) {
  const Json object = target.object();
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", {{"name", target.name}}},
          {"spec", {{"replicas", replicas}}},
          {"status", {{"replicas", object["status"]["replicas"]}}}};
}

net::HttpResponse answer_scale(const net::HttpRequest& request, const ControlTarget& target) {
  if (request.method != "PUT") return failure(405, "MethodNotAllowed", "expected PUT");
  const Result<std::int64_t> replicas = replicas_of(request.body);
  if (!replicas.ok()) {
    const Error& error = replicas.error();
    const std::string at = error.field.empty() ? "" : error.field + ": ";
    const bool told = error.message.starts_with(at);
    return failure(400, "BadRequest", (told ? "" : at) + error.message);
  }
  if (const Status done = target.scale(*replicas); !done.ok()) {
    return failure(409, "Conflict", done.error().message);
  }
  return json_answer(200, scale_object(target, *replicas));
}

}  // namespace

net::HttpResponse answer_control(const net::HttpRequest& request, const ControlTarget& target) {
  const std::string path(request.path());
  const std::string own = std::string(kModelServingsPath) + "/" + target.name;
  if (path == own + "/scale") return answer_scale(request, target);
  if (path != kModelServingsPath && path != own) {
    return failure(404, "NotFound", "nothing at " + path + "; this world serves " + own);
  }
  if (request.method != "GET") return failure(405, "MethodNotAllowed", "expected GET");
  if (path == own) return json_answer(200, target.object());
  return json_answer(200, {{"kind", std::string(serving::kKind) + "List"},
                           {"apiVersion", serving::kApiVersion},
                           {"items", Json::array({target.object()})}});
}

}  // namespace kantha::local
