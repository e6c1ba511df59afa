#include "noded/gateway/door_dialect.h"

#include "base/json.h"
#include "base/messages_error.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

OrderedJson error_json(DoorDialect dialect, int status, std::string_view message) {
  OrderedJson json;
  if (dialect == DoorDialect::kOllama) {
    json["error"] = message;
    return json;
  }
  json["type"] = "error";
  json["error"]["type"] = messages_error_type(status);
  json["error"]["message"] = message;
  return json;
}

}  // namespace

DoorDialect dialect_of(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (path == "/v1/messages" || path.starts_with("/v1/messages/")) return DoorDialect::kMessages;
  return path.starts_with("/api/") ? DoorDialect::kOllama : DoorDialect::kOpenAi;
}

net::HttpResponse in_dialect(DoorDialect dialect, net::HttpResponse answer) {
  if (dialect == DoorDialect::kOpenAi) return answer;
  const Result<Json> body = parse_json(answer.body);
  if (!body.ok() || !body->is_object()) return answer;
  const auto error = body->find("error");
  if (error == body->end() || !error->is_object()) return answer;
  const auto message = error->find("message");
  if (message == error->end() || !message->is_string()) return answer;
  answer.body = dump_json(error_json(dialect, answer.status, message->get<std::string>()));
  return answer;
}

std::string broken_stream_end(DoorDialect dialect, std::string_view message, char last_byte) {
  constexpr int kBadGateway = 502;
  switch (dialect) {
    case DoorDialect::kOpenAi: return "\n\n" + door_error_event(message);
    case DoorDialect::kMessages:
      return "\n\nevent: error\ndata: " + dump_json(error_json(dialect, kBadGateway, message)) +
             "\n\n";
    case DoorDialect::kOllama: break;
  }
  // Their clients read every line as JSON, also an empty one.
  const std::string cut = last_byte == '\n' ? "" : "\n";
  return cut + dump_json(error_json(dialect, kBadGateway, message)) + "\n";
}

std::int64_t count_stream_events(DoorDialect dialect, std::string_view bytes, char& last) {
  std::int64_t count = 0;
  for (const char byte : bytes) {
    const bool ends = byte == '\n' && (dialect == DoorDialect::kOllama || last == '\n');
    if (ends) ++count;
    last = ends && dialect != DoorDialect::kOllama ? ' ' : byte;
  }
  return count;
}

}  // namespace kantha::noded
