#include "cli/control_client.h"

#include <algorithm>
#include <filesystem>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>

#include "base/net/http_client.h"
#include "cli/blocking_task.h"
#include "operator/local/control_api.h"
#include "operator/local/places.h"

namespace kantha::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kAnswerWithin = std::chrono::seconds(5);

Result<std::string> run_root() {
  TRY(const local::Places places, local::find_places(local::process_environment()));
  return places.run_root;
}

/// One exchange with a world; its Status object's message on a refusal.
Result<Json> call_world(const std::string& root, const std::string& name,
                        net::HttpRequest request) {
  boost::asio::io_context context(1);
  net::HttpClient client(context.get_executor());
  net::Endpoint endpoint;
  endpoint.unix_path = root + "/" + name + "/control.sock";
  TRY(const net::HttpResponse answer,
      run_blocking(context, client.call(endpoint, std::move(request), kAnswerWithin)));
  TRY(Json body, parse_json(answer.body));
  if (answer.status / 100 == 2) return body;
  const bool told = body.is_object() && body.contains("message") && body["message"].is_string();
  return Error{answer.status == 400 ? Code::kInvalidArgument : Code::kUnavailable,
               told ? body["message"].get<std::string>() : "HTTP " + std::to_string(answer.status)};
}

Result<RunningWorld> read_world(const std::string& root, const std::string& name) {
  net::HttpRequest request;
  request.target = std::string(local::kModelServingsPath) + "/" + name;
  TRY(Json object, call_world(root, name, std::move(request)));
  TRY(local::WorldView view, local::world_view_from_json(object));
  return RunningWorld{std::move(object), std::move(view)};
}

}  // namespace

std::string plain_name(const std::string& text) {
  for (const char* prefix : {"kms/", "modelserving/", "modelservings/"}) {
    if (text.starts_with(prefix)) return text.substr(std::string_view(prefix).size());
  }
  return text;
}

Result<std::vector<RunningWorld>> list_worlds() {
  TRY(const std::string root, run_root());
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (fs::exists(entry.path() / "control.sock", error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<RunningWorld> out;
  for (const std::string& name : names) {
    Result<RunningWorld> world = read_world(root, name);
    if (world.ok()) out.push_back(std::move(world).value());
  }
  return out;
}

Result<RunningWorld> find_world(const std::string& name) {
  TRY(const std::vector<RunningWorld> worlds, list_worlds());
  std::string running;
  for (const RunningWorld& world : worlds) {
    if (world.view.name == name) return world;
    running += (running.empty() ? "" : ", ") + world.view.name;
  }
  return not_found("no ModelServing \"" + name +
                   "\" runs here; running: " + (running.empty() ? "none" : running));
}

Status scale_world(const std::string& name, std::int64_t replicas) {
  TRY(const RunningWorld world, find_world(name));
  TRY(const std::string root, run_root());
  net::HttpRequest request;
  request.method = "PUT";
  request.target = std::string(local::kModelServingsPath) + "/" + world.view.name + "/scale";
  request.headers.set("Content-Type", "application/json");
  request.body = dump_json(Json{{"spec", {{"replicas", replicas}}}});
  TRY(const Json answer, call_world(root, world.view.name, std::move(request)));
  return ok_status();
}

Status patch_world(const std::string& name, const Json& patch) {
  TRY(const std::string root, run_root());
  net::HttpRequest request;
  request.method = "PATCH";
  request.target = std::string(local::kModelServingsPath) + "/" + name;
  request.headers.set("Content-Type", "application/merge-patch+json");
  request.body = dump_json(patch);
  TRY(const Json answer, call_world(root, name, std::move(request)));
  return ok_status();
}

}  // namespace kantha::cli
