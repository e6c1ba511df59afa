#include "base/net/http.h"

#include <algorithm>

#include "base/net/ascii.h"

namespace kantha::net {

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (equals_ignoring_case(key, name)) return value;
  }
  return std::nullopt;
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(name, std::move(value));
}

void Headers::add(std::string_view name, std::string value) {
  fields_.emplace_back(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_,
                [&](const auto& field) { return equals_ignoring_case(field.first, name); });
}

std::string_view HttpRequest::path() const {
  std::string_view text = target;
  // Absolute form, as proxies send it: only the part from the first slash of the path matters.
  if (starts_with_ignoring_case(text, "http://")) {
    const std::size_t slash = text.find('/', 7);
    text = slash == text.npos ? std::string_view("/") : text.substr(slash);
  }
  return text.substr(0, text.find('?'));
}

std::string_view HttpRequest::query() const {
  const std::string_view text = target;
  const std::size_t mark = text.find('?');
  return mark == text.npos ? std::string_view() : text.substr(mark + 1);
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

}  // namespace kantha::net
