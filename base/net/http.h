#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

/// HTTP/1.1 messages as plain data; no Asio and no Beast here.
namespace kantha::net {

/// Header fields in order; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  /// First value of the field, if any.
  std::optional<std::string_view> find(std::string_view name) const;
  /// Replaces every field of that name.
  void set(std::string_view name, std::string value);
  /// Adds one more.
  void add(std::string_view name, std::string value);
  void remove(std::string_view name);
  const std::vector<std::pair<std::string, std::string>>& all() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// A request as received or to be sent. `target` is the raw request target; `path` and `query` are
/// its parts before and after '?', not decoded.
struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";
  Headers headers = {};
  std::string body = {};
  /// Of a request to be sent: asking twice does no harm, though the method does not say so.
  bool may_be_repeated = false;

  std::string_view path() const;
  std::string_view query() const;
};

struct HttpResponse {
  int status = 200;
  Headers headers = {};
  std::string body = {};
};

/// Standard reason phrase, "Unknown" for the rest.
std::string_view reason_phrase(int status);

/// Where to connect or listen: "127.0.0.1:8000", "[::1]:8000", "http://127.0.0.1:8000" or
/// "unix:/run/x.sock".
struct Endpoint {
  std::string host = {};
  std::uint16_t port = 0;
  std::string unix_path = {};

  bool is_unix() const { return !unix_path.empty(); }
  std::string to_string() const;
};

/// kInvalidArgument that shows the text when it is none of the forms above.
Result<Endpoint> parse_endpoint(std::string_view text);

/// Bounds of one server, as sizes and times (research: HTTP edge budget).
struct HttpLimits {
  std::size_t request_line_bytes_max = 8u << 10;
  std::size_t header_bytes_max = 32u << 10;
  std::size_t header_count_max = 100;
  std::size_t body_bytes_max = 8u << 20;
  /// Of all requests that arrive or are answered at one time: connections_max bodies of
  /// body_bytes_max would be more memory than a pod has.
  std::size_t bodies_bytes_max = 512u << 20;
  std::size_t connections_max = 2000;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(75);
  Duration write_stall_timeout = std::chrono::seconds(30);
};

}  // namespace kantha::net
