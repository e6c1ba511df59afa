#include "operator/local/control_api.h"

#include "base/json_fields.h"
#include "base/net/json_answer.h"
#include "operator/local/local_rules.h"
#include "operator/serving/types.h"

namespace kantha::local {
namespace {

net::HttpResponse failure(int status, const std::string& reason, const std::string& message) {
  return net::json_answer(status, {{"kind", "Status"},
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
  return net::json_answer(200, scale_object(target, *replicas));
}

net::HttpResponse answer_patch(const net::HttpRequest& request, const ControlTarget& target) {
  const Result<Json> patch = parse_json(request.body);
  if (!patch.ok()) return failure(400, "BadRequest", patch.error().message);
  if (const Status done = target.patch(*patch); !done.ok()) {
    const Error& error = done.error();
    const bool invalid = error.code == Code::kInvalidArgument;
    const std::string at = error.field.empty() ? "" : error.field + ": ";
    return failure(invalid ? 422 : 409, invalid ? "Invalid" : "Conflict", at + error.message);
  }
  return net::json_answer(200, target.object());
}

}  // namespace

net::HttpResponse answer_control(const net::HttpRequest& request, const ControlTarget& target) {
  const std::string path(request.path());
  const std::string own = std::string(kModelServingsPath) + "/" + target.name;
  if (path == own + "/scale") return answer_scale(request, target);
  if (path != kModelServingsPath && path != own) {
    return failure(404, "NotFound", "nothing at " + path + "; this world serves " + own);
  }
  if (path == own && request.method == "PATCH" && target.patch) {
    return answer_patch(request, target);
  }
  if (request.method != "GET") return failure(405, "MethodNotAllowed", "expected GET");
  if (path == own) return net::json_answer(200, target.object());
  return net::json_answer(200, {{"kind", std::string(serving::kKind) + "List"},
                                {"apiVersion", serving::kApiVersion},
                                {"items", Json::array({target.object()})}});
}

}  // namespace kantha::local
